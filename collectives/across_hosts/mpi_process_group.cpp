#include <rondo/collectives/across_hosts/mpi_process_group.h>
#include <rondo/collectives/across_hosts/wait_tracker.h>
#include <rondo/kernels/core/indexed.h>

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <set>

namespace rondo {

namespace {

constexpr int kKeepAliveTag = ProcessGroup::kTags;  // MPI guarantees tags up to 32767

Status from_mpi(int error, const std::string& what) {
  if (error == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  return Status(StatusCode::device_failed, concat(what, ": ", text.data()));
}

struct Place {
  std::array<char, 120> host = {};
  int64_t pid = 0;
};

class MpiProcessGroup final : public ProcessGroup {
 public:
  explicit MpiProcessGroup(MpiOptions options)
      : timeout_(options.timeout), on_failure_(std::move(options.on_failure)) {
    if (timeout_.count() <= 0)
      throw Error(bad_argument("MPI: the timeout is ", timeout_.count(), " ms, must be above 0"));
    int initialised = 0, threads = 0;
    MPI_Initialized(&initialised);
    if (!initialised) {
      throw_if_error(from_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads), "MPI_Init"));
      finalise_ = true;
    }
    MPI_Query_thread(&threads);
    if (threads < MPI_THREAD_SERIALIZED)
      throw Error(
          bad_argument("MPI: it was initialised for a single thread, must be MPI_THREAD_SERIALIZED or more"));
    throw_if_error(from_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup"));
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_size(world_, &size_);
    MPI_Comm_rank(world_, &index_);
    Place own;
    gethostname(own.host.data(), own.host.size() - 1);
    own.pid = getpid();
    places_.resize(size_);
    throw_if_error(
        from_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, places_.data(), sizeof own, MPI_BYTE, world_),
                 "MPI_Allgather"));
  }

  ~MpiProcessGroup() override {
    if (!state().ok()) return;
    MPI_Comm_free(&world_);
    if (finalise_) MPI_Finalize();
  }

  int size() const override { return size_; }
  int index() const override { return index_; }
  std::string name(int process) const override {
    const Place& place = places_[process];
    return concat("process ", process, " (pid ", place.pid, " on host ", place.host.data(), ")");
  }

  std::string host(int process) const override { return places_[process].host.data(); }

  Status exchange(std::span<const Message> sends, std::span<const Message> receives, int tag,
                  const std::string& what) override {
    RONDO_RETURN_IF_ERROR(state());
    Open open(*this, sends, receives);
    for (size_t i = 0; i < open.messages.size(); ++i) {
      const std::lock_guard lock(mpi_);
      const Message& m = open.messages[i];
      const int bytes = static_cast<int>(m.bytes);
      const int error = i < open.receives
                            ? MPI_Irecv(m.data, bytes, MPI_BYTE, m.process, tag, world_, &open.requests[i])
                            : MPI_Isend(m.data, bytes, MPI_BYTE, m.process, tag, world_, &open.requests[i]);
      if (error != MPI_SUCCESS) return fail(from_mpi(error, concat(what, ", with ", name(m.process))));
    }
    WaitTracker waiting(timeout_);
    for (size_t left = open.messages.size(); left > 0;) {
      int finished = 0;
      RONDO_RETURN_IF_ERROR(test(open, finished, what));
      if (finished > 0) {
        left -= finished;
        waiting.on_progress();
        continue;
      }
      RONDO_RETURN_IF_ERROR(state());  // another thread's exchange may have failed
      if (waiting.past_half_timeout()) listen(waiting);
      if (waiting.should_send_keepalive()) send_keepalives();
      if (waiting.past_half_timeout() && waiting.is_over(open.missed()))
        return give_up(open.missed(), waiting, what);
      waiting.pause();
    }
    return {};
  }

  Status state() const override {
    const std::lock_guard lock(failure_mutex_);
    return failure_;
  }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::abort();  // not reached
  }

 private:
  // The messages of one exchange. The destructor cancels outstanding receives, so their memory may be freed.
  struct Open {
    Open(MpiProcessGroup& group, std::span<const Message> sends, std::span<const Message> to_receive)
        : group(group), messages(to_receive.begin(), to_receive.end()), receives(to_receive.size()) {
      messages.insert(messages.end(), sends.begin(), sends.end());
      requests.resize(messages.size(), MPI_REQUEST_NULL);
      indices.resize(messages.size());
      statuses.resize(messages.size());
    }
    ~Open() {
      const std::lock_guard lock(group.mpi_);
      for (size_t i = 0; i < requests.size(); ++i) {
        if (requests[i] == MPI_REQUEST_NULL) continue;
        if (i < receives) MPI_Cancel(&requests[i]);
        MPI_Request_free(&requests[i]);
      }
    }
    // The processes with unfinished messages, without duplicates.
    std::vector<int> missed() const {
      std::set<int> processes;
      for (size_t i = 0; i < messages.size(); ++i)
        if (requests[i] != MPI_REQUEST_NULL) processes.insert(messages[i].process);
      return {processes.begin(), processes.end()};
    }

    MpiProcessGroup& group;
    Indexed<std::vector<Message>> messages;  // the receives, then the sends
    size_t receives;
    std::vector<MPI_Request> requests;
    Indexed<std::vector<int>> indices;
    Indexed<std::vector<MPI_Status>> statuses;
  };

  // `finished`: the number of messages that completed since the previous call.
  Status test(Open& open, int& finished, const std::string& what) {
    const std::lock_guard lock(mpi_);
    const int error = MPI_Testsome(static_cast<int>(open.requests.size()), open.requests.data(), &finished,
                                   open.indices.data(), open.statuses.data());
    if (error == MPI_SUCCESS) return {};
    for (int i = 0; error == MPI_ERR_IN_STATUS && i < finished; ++i) {
      const int why = open.statuses[i].MPI_ERROR;
      if (why == MPI_SUCCESS || why == MPI_ERR_PENDING) continue;
      const Message& message = open.messages[open.indices[i]];
      return fail(from_mpi(why, concat(what, ", with ", name(message.process))));
    }
    return fail(from_mpi(error, what));
  }

  void send_keepalives() {
    static char nothing = 0;
    const std::lock_guard lock(mpi_);
    for (int process = 0; process < size_; ++process) {
      if (process == index_) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(&nothing, 1, MPI_CHAR, process, kKeepAliveTag, world_, &request);
      MPI_Request_free(&request);
    }
  }

  void listen(WaitTracker& waiting) {
    const std::lock_guard lock(mpi_);
    for (;;) {
      int found = 0;
      MPI_Status keepalive;
      MPI_Iprobe(MPI_ANY_SOURCE, kKeepAliveTag, world_, &found, &keepalive);
      if (!found) return;
      char nothing = 0;
      MPI_Recv(&nothing, 1, MPI_CHAR, keepalive.MPI_SOURCE, kKeepAliveTag, world_, MPI_STATUS_IGNORE);
      waiting.on_keepalive(keepalive.MPI_SOURCE);
    }
  }

  Status give_up(const std::vector<int>& missed, const WaitTracker& waiting, const std::string& what) {
    const std::vector<int> unresponsive = waiting.unresponsive(missed);
    std::string names;
    for (int process : unresponsive.empty() ? missed : unresponsive)
      names += concat(names.empty() ? "" : " and ", name(process));
    return fail(Status(StatusCode::timed_out, concat(what, ": nothing came from ", names, " for ",
                                                     static_cast<double>(timeout_.count()) / 1000, " s",
                                                     unresponsive.empty() ? ", though it runs" : "")));
  }

  // Stores the first failure only.
  Status fail(Status failure) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_.ok()) return failure_;
    if (on_failure_) on_failure_(*this, failure);
    failure_ = std::move(failure);
    return failure_;
  }

  std::chrono::milliseconds timeout_;
  std::function<void(ProcessGroup&, const Status&)> on_failure_;
  bool finalise_ = false;
  MPI_Comm world_ = MPI_COMM_NULL;
  int size_ = 0, index_ = 0;
  PerRank<Place> places_;
  std::mutex mpi_;  // held for every MPI call: only MPI_THREAD_SERIALIZED is guaranteed
  mutable std::mutex failure_mutex_;
  Status failure_;
};

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<ProcessGroup> make_mpi_process_group(MpiOptions options) {
  return std::make_unique<MpiProcessGroup>(std::move(options));
}

}  // namespace rondo
