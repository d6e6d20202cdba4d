// The program that across_hosts_test.cpp starts, in one process and in several.
//
//   program bits LOCAL GROUP      all-reduces of many kinds; process 0 prints a line with a hash for each.
//                                 In one process, LOCAL ranks in groups of GROUP replace several processes.
//   program mismatch LOCAL 0      calls that differ between the processes; prints the returned errors
//   program layout LOCAL 0        process 1 has one rank more than the others
//   program stop LOCAL 0          process 1 stops itself after half of the operations
//   program stop_replay LOCAL 0   the same, if the operations are replays of a graph
//   program die LOCAL 0           process 1 is killed at the same point
//   program forever LOCAL 0       endless operations; process 0 prints "running" after some
//   program order LOCAL 0         two communicators; their messages get ready in another order in process 1
//   program row LOCAL 0           process 1 stops, the last process waits for it, and process 0 for the last
//
// TIMEOUT_MS: how long a process waits for another. Exit code 3: an exception was thrown.
#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/collectives/across_hosts/mpi_process_group.h>
#include <rondo/tests/across_hosts/fingerprint.h>
#include <rondo/tests/across_hosts/forwarding_group.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

namespace rondo::test {
namespace {

// Asks CUDA about the memory of each message, as a CUDA-aware MPI implementation does.
class CudaAwareGroup final : public ForwardingGroup {
 public:
  using ForwardingGroup::ForwardingGroup;
  Status exchange(std::span<const Message> sends, std::span<const Message> receives, int tag,
                  const std::string& what) override {
    for (const auto& messages : {sends, receives})
      for (const Message& message : messages) {
        cudaPointerAttributes attributes;
        RONDO_CUDA(cudaPointerGetAttributes(&attributes, message.data));
        if (attributes.type == cudaMemoryTypeDevice) return bad_argument(what, ": device memory");
      }
    return ForwardingGroup::exchange(sends, receives, tag, what);
  }
};

struct Program {
  ProcessGroup* processes;
  int local, group;

  bool first() const { return !processes || processes->index() == 0; }
  bool second() const { return processes && processes->index() == 1; }
  Ranks ranks(int64_t slot_bytes) const { return Ranks(processes, local, group, slot_bytes); }

  template <class T>
  void print_hash(Ranks& ranks, const Vectors<T>& vectors, const std::string& what) const {
    const uint64_t hash = fingerprint(processes, ranks, vectors);
    if (first()) std::printf("%s %016llx\n", what.c_str(), static_cast<unsigned long long>(hash));
  }

  template <class T>
  void reduce(Ranks& ranks, Reduction reduction, int64_t size) const {
    const Vectors<T> in(ranks, size);
    Vectors<T> out(ranks, size);
    const std::vector<ConstDataView> inputs(in.views.begin(), in.views.end());
    const ReduceOptions options{.reduction = reduction, .algorithm = Algorithm::hierarchical};
    if (size % 2 == 0)
      throw_if_error(all_reduce(out.views, inputs, options, ranks.communicator, ranks.streams));
    else
      throw_if_error(all_reduce(out.views, options, ranks.communicator, ranks.streams));
    print_hash(ranks, out, concat(name_of(dtype_of<T>), " ", name_of(reduction), " ", size));
  }

  void coalesced(Ranks& ranks) const {
    Vectors<float> a(ranks, 100), b(ranks, 333), c(ranks, 5000);
    std::vector<std::vector<DataView>> lists;
    for (size_t rank = 0; rank < ranks.devices.size(); ++rank)
      lists.push_back({a.views[rank], b.views[rank], c.views[rank]});
    throw_if_error(all_reduce_coalesced(lists, {.algorithm = Algorithm::hierarchical}, ranks.communicator,
                                        ranks.streams));
    for (const Vectors<float>* vectors : {&a, &b, &c}) print_hash(ranks, *vectors, "one of many");
  }

  // Captures two operations once and replays them.
  void replayed(Ranks& ranks) const {
    Vectors<float> data(ranks, 3000);
    const Recorded twice(ranks, [&] {
      const ReduceOptions options{.reduction = Reduction::average, .algorithm = Algorithm::hierarchical};
      for (int i = 0; i < 2; ++i)
        throw_if_error(all_reduce(data.views, options, ranks.communicator, ranks.streams));
    });
    for (int replay = 0; replay < 3; ++replay) {
      data.reset(ranks);
      for (int i = 0; i < 2; ++i) twice.launch();
      print_hash(ranks, data, "replayed");
    }
  }

  void bits() const {
    for (const int64_t slot_bytes : {1024, 65536}) {
      Ranks all = ranks(slot_bytes);
      for (const int64_t size : {0, 1, 7, 64, 2999, 20000})
        for (const DType dtype : kDTypes)
          for (const Reduction reduction : kReductions)
            if ((size < 2000 && slot_bytes == 1024) ||
                (size >= 2000 && (reduction == Reduction::sum || reduction == Reduction::average)))
              visit(dtype, [&](auto element) { reduce<decltype(element)>(all, reduction, size); });
      coalesced(all);
      replayed(all);
    }
  }

  void print_status(const Status& status) const {
    if (first()) std::printf("%s: %s\n", name_of(status.code()), status.message().c_str());
  }

  void mismatch() const {
    Ranks all = ranks(1024);
    const ReduceOptions sum{.algorithm = Algorithm::hierarchical};
    Vectors<float> data(all, 100), longer(all, 101);
    Vectors<int32_t> integers(all, 100);
    const auto call = [&](const std::vector<DataView>& views, const ReduceOptions& options) {
      print_status(all_reduce(views, options, all.communicator, all.streams));
    };
    call(second() ? longer.views : data.views, sum);
    call(second() ? integers.views : data.views, sum);
    call(data.views, second() ? ReduceOptions{.reduction = Reduction::max} : sum);
    call(second() ? std::vector<DataView>(all.devices.size(), DataView(nullptr, 100, DType::float32))
                  : data.views,
         sum);
    std::vector<std::vector<DataView>> lists;  // of as many elements, in vectors of other sizes
    for (const DataView& view : data.views) {
      const int64_t first = second() ? 30 : 40;
      lists.push_back({view.part(0, first), view.part(first, 100 - first)});
    }
    print_status(all_reduce_coalesced(lists, sum, all.communicator, all.streams));
    std::vector<std::vector<DataView>> alike;
    for (const DataView& view : data.views) alike.push_back({view.part(0, 50), view.part(50, 50)});
    print_status(all_reduce_coalesced(alike, second() ? ReduceOptions{.reduction = Reduction::max} : sum,
                                      all.communicator, all.streams));
    call(data.views, {.algorithm = Algorithm::ring});
    print_status(barrier(all.communicator, all.streams));
    capture_one(all, data);
    gather_different_things();
    throw_if_error(all.communicator.wait(all.streams, std::chrono::minutes(2)));
    for (size_t rank = 0; rank < all.devices.size(); ++rank)
      if (data.buffers[rank].download() != all.values<float>(static_cast<int>(rank), 100))
        throw std::runtime_error("a refused call has changed its data");
    call(data.views, sum);
    print_hash(all, data, "and all is well afterwards:");
  }

  // Process 1 has one of its two streams captured. Only process 1 can detect this, before any process has
  // begun.
  void capture_one(Ranks& all, const Vectors<float>& data) const {
    const DeviceScope scope(all.devices[0]);
    if (second())
      throw_if_error(
          from_cuda(cudaStreamBeginCapture(all.streams[0], cudaStreamCaptureModeRelaxed), "capture"));
    const Status status = all_reduce(data.views, {}, all.communicator, all.streams);
    cudaGraph_t graph = nullptr;
    if (second()) {
      throw_if_error(from_cuda(cudaStreamEndCapture(all.streams[0], &graph), "capture"));
      throw_if_error(from_cuda(cudaGraphDestroy(graph), "capture"));
    }
    print_status(status);
    throw_if_error(all.communicator.state());
  }

  // Gathers of different kinds; of the same kind with different sizes; and of values too large for one
  // message.
  void gather_different_things() const {
    const auto expect_refused = [](const Status& status, const char* what) {
      if (status.message().find(what) == std::string::npos)
        throw std::runtime_error(concat("'", what, "' is not in '", status.message(), "'"));
    };
    const std::lock_guard lock(processes->call_mutex());
    std::vector<int> numbers;
    std::vector<std::array<int, 300>> lists;
    std::array<int, 300> list{};
    for (size_t i = 0; i < list.size(); ++i) list[i] = static_cast<int>(i) * (processes->index() + 1);
    for (const std::string kind : {"lists", "numbers"}) {
      const Status status =
          second() ? gather(*processes, list, lists, kind) : gather(*processes, 7, numbers, "numbers");
      print_status(status);
      expect_refused(status, second() ? "process 1" : "(1200 bytes) and process 0");
    }
    expect_refused(gather(*processes, 7, numbers, second() ? "other numbers" : "numbers"),
                   "'other numbers' (4 bytes)");
    throw_if_error(gather(*processes, list, lists, "lists"));
    throw_if_error(gather(*processes, processes->index(), numbers, "numbers"));
    for (int process = 0; process < processes->size(); ++process)
      if (numbers[static_cast<size_t>(process)] != process ||
          lists[static_cast<size_t>(process)][299] != 299 * (process + 1))
        throw std::runtime_error("what was gathered is wrong");
  }

  void layout() const { const Ranks all(processes, local + (second() ? 1 : 0), group, 1024); }

  void fail_with(int signal, bool recorded) const {
    Ranks all = ranks(1024);
    Vectors<float> data(all, 5000);
    const auto reduce = [&] {
      throw_if_error(
          all_reduce(data.views, {.reduction = Reduction::average}, all.communicator, all.streams));
    };
    const Recorded step(all, reduce);
    for (int operation = 0; operation < 20; ++operation) {
      if (operation == 10 && second()) std::raise(signal);
      recorded ? step.launch() : reduce();
      throw_if_error(all.communicator.wait(all.streams, std::chrono::minutes(2)));
    }
  }

  void forever() const {
    Ranks all = ranks(1024);
    Vectors<float> data(all, 5000);
    const Recorded step(all, [&] {
      throw_if_error(all_reduce(data.views, {.reduction = Reduction::max}, all.communicator, all.streams));
    });
    for (int operation = 0;; ++operation) {
      step.launch();
      throw_if_error(all.communicator.wait(all.streams, std::chrono::minutes(2)));
      if (operation != 20 || !first()) continue;
      std::printf("running\n");
      std::fflush(stdout);
    }
  }

  // Two operations, first enqueued directly, then replayed from one graph that does not order them.
  void order() const {
    Ranks a = ranks(1024), b = ranks(1024);
    Vectors<float> of_a(a, 300), of_b(b, 400);
    const auto reduce = [](Ranks& all, const Vectors<float>& data) {
      throw_if_error(all_reduce(data.views, {}, all.communicator, all.streams));
    };
    const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
    const auto enqueue = [&] {
      throw_if_error(from_cuda(cudaLaunchHostFunc((second() ? b : a).streams[0], sleep, nullptr), "sleep"));
      reduce(a, of_a);
      reduce(b, of_b);
    };
    const auto finish = [&](const char* how) {
      for (Ranks* all : {&a, &b})
        throw_if_error(all->communicator.wait(all->streams, std::chrono::minutes(2)));
      print_hash(a, of_a, how);
      print_hash(b, of_b, how);
    };
    enqueue();
    finish("enqueued");

    std::vector<Event> begun, done;
    for (const int device : a.devices) {
      const DeviceScope scope(device);
      begun.emplace_back();
      done.emplace_back();
    }
    const auto after = [&](cudaStream_t second, cudaStream_t first, cudaEvent_t event) {
      throw_if_error(from_cuda(cudaEventRecord(event, first), "record"));
      throw_if_error(from_cuda(cudaStreamWaitEvent(second, event, 0), "wait"));
    };
    const auto on_each = [&](auto work) {
      for (size_t rank = 0; rank < a.devices.size(); ++rank) {
        const DeviceScope scope(a.devices[rank]);
        work(rank);
      }
    };
    const Recorded both(a, [&] {
      on_each([&](size_t rank) { after(b.streams[rank], a.streams[rank], begun[rank]); });
      enqueue();
      on_each([&](size_t rank) { after(a.streams[rank], b.streams[rank], done[rank]); });
    });
    both.launch();
    finish("replayed");
  }

  // Process 0 waits for the last process, which waits for process 1, which has stopped. The error must name
  // process 1.
  void row() const {
    const int last = processes->size() - 1, own = processes->index();
    char byte = 0;
    const auto receive_from = [&](int process) {
      const ProcessGroup::Message message{process, &byte, 1};
      throw_if_error(processes->exchange({}, {&message, 1}, 1, "a row"));
    };
    if (own == 1) std::raise(SIGSTOP);
    if (own == last) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    if (own == 0) receive_from(last);
    if (own == last) receive_from(1);
    std::vector<char> all;
    throw_if_error(gather(*processes, byte, all, "the end"));
  }
};

int run(int argc, char** argv) {
  if (argc != 4) return 2;
  const char* timeout = std::getenv("TIMEOUT_MS");
  std::unique_ptr<ProcessGroup> processes;
  std::optional<CudaAwareGroup> cuda_aware;
  try {
    Ranks::create_contexts(std::atoi(argv[2]));
    if (std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE"))
      processes = make_mpi_process_group({std::chrono::milliseconds(timeout ? std::atoi(timeout) : 20'000)});
    if (processes) cuda_aware.emplace(*processes);
    const Program program{cuda_aware ? &*cuda_aware : nullptr, std::atoi(argv[2]), std::atoi(argv[3])};
    const std::string scenario = argv[1];
    if (scenario == "bits") program.bits();
    if (scenario == "mismatch") program.mismatch();
    if (scenario == "layout") program.layout();
    if (scenario == "stop") program.fail_with(SIGSTOP, false);
    if (scenario == "stop_replay") program.fail_with(SIGSTOP, true);
    if (scenario == "die") program.fail_with(SIGKILL, true);
    if (scenario == "order") program.order();
    if (scenario == "row") program.row();
    if (scenario == "forever") program.forever();
    return 0;
  } catch (const std::exception& error) {
    const std::string who = processes ? processes->name(processes->index()) + ": " : "";
    std::fprintf(stderr, "%s%s\n", who.c_str(), error.what());
    std::fflush(nullptr);
    if (processes) processes->abort(3);
    return 3;
  }
}

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) { return rondo::test::run(argc, argv); }
