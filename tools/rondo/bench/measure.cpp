#include <rondo/bench/timing/call_timer.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/bench/bench.h>
#include <rondo/tools/rondo/bench/peer.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace rondo::program {
namespace {

constexpr int64_t kRound = 16;          // samples of Rondo, then as many of the peer
constexpr int64_t kFewestSamples = 10;  // also where they take longer than --time
constexpr int64_t kEnoughSamples = 10'000;

bool takes_more(const BenchArguments& a, const std::vector<double>& samples, int64_t calls) {
  const auto count = static_cast<int64_t>(samples.size());
  if (a.samples) return count < *a.samples;
  const double spent = std::accumulate(samples.begin(), samples.end(), 0.0) * static_cast<double>(calls);
  return count < kFewestSamples || (spent < a.seconds && count < kEnoughSamples);
}

int64_t next_round(const BenchArguments& a, const std::vector<double>& samples) {
  return a.samples ? std::min(kRound, *a.samples - static_cast<int64_t>(samples.size())) : kRound;
}

void measure_row(const BenchArguments& a, const bench::OperatorCall& call, const bench::OperandSets& sets,
                 BenchPeer* peer, BenchRow& row) {
  Stream stream;
  bench::CallTimer timer(
      stream,
      [&](int64_t index, cudaStream_t s) { return call.enqueue(sets.set(row.is_cold ? index : 0), s); },
      row.is_cold ? sets.count() : 1);
  row.times.calls_per_sample = timer.calls_per_sample();
  if (peer) row.peer.calls_per_sample = peer->calls_per_sample(row.is_cold);
  while (takes_more(a, row.times.samples, timer.calls_per_sample())) {
    // Slow calls in short rounds, so that they do not take much longer than --time.
    const double seconds = timer.sample_seconds();
    const int64_t slow = a.samples ? kRound : std::max<int64_t>(1, static_cast<int64_t>(a.seconds / seconds));
    const int64_t count = std::min(next_round(a, row.times.samples), slow);
    timer.sample(count, row.times.samples);
    if (peer) peer->sample(row.is_cold, count, row.peer.samples);
  }
  for (BenchTimes* times : {&row.times, &row.peer}) times->seconds = bench::percentiles_of(times->samples);
}

// Runs f(). Errors of sizes that do not fit name the option that has them.
template <class F>
auto with_sizes_of(const BenchArguments& a, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.status().code() == StatusCode::device_failed) throw;
    const char* const option = a.sweep.empty()   ? "--shape"
                               : a.shape.empty() ? "--sweep"
                                                 : "--shape and --sweep";
    throw Error(Status(error.status().code(), concat(option, ": ", error.status().message())));
  }
}

void begin(BenchPeer& peer, const PeerWork& work) {
  try {
    peer.begin(work);
  } catch (const Error& error) {
    if (error.status().code() != StatusCode::bad_argument) throw;
    throw PeerRefusal(error.status());
  }
}

void measure_call(const BenchArguments& a, const bench::OperatorRequest& request, BenchPeer* peer,
                  BenchReport& report) {
  const bench::OperatorCall call = bench::make_call(a.operation, request);
  const bool wants_cold = a.cache != BenchCache::hot, wants_hot = a.cache != BenchCache::cold;
  const int64_t set_bytes = bench::OperandSets::bytes_of_set(call.operands);
  const bench::OperandSets sets = with_sizes_of(a, [&] {
    return bench::make_operands(call, wants_cold ? cold_sets(set_bytes, report.cache.bytes) : 1);
  });
  if (!with_sizes_of(a, [&] { return bench::runs_right(call, sets); }))
    throw Error(Status(StatusCode::device_failed, concat(call.name, ": the result is wrong")));
  if (peer) begin(*peer, {a.operation, request, &sets});
  report.arithmetic = call.arithmetic;
  for (const bool cold : {true, false}) {
    if (cold ? !wants_cold : !wants_hot) continue;
    BenchRow row = {.shape = request.shape, .name = call.name, .pass = call.pass, .is_cold = cold};
    row.sets = cold ? sets.count() : 1;
    row.set_bytes = sets.set_bytes();
    row.work = call.work;
    row.bound = bench::bound_of(call.work, call.arithmetic);
    row.plan = call.plan;
    measure_row(a, call, sets, peer, row);
    report.rows.push_back(std::move(row));
  }
}

}  // namespace

int64_t cold_sets(int64_t set_bytes, int64_t cache_bytes) {
  const int64_t bytes = std::max<int64_t>(set_bytes, 1);  // without an overflow for sizes that fit no memory
  const int64_t others = (2 * cache_bytes - 1) / bytes + 1;
  return std::clamp<int64_t>(1 + others, 2, kMostSets);
}

BenchReport run_bench(const BenchArguments& a) {
  const std::unique_ptr<BenchPeer> peer = make_peer(a);
  return run_bench(a, peer.get());
}

BenchReport run_bench(const BenchArguments& a, BenchPeer* peer) {
  int devices = 0;
  throw_if_error(count_devices(devices));
  if (devices == 0)
    throw Error(bad_argument("no CUDA device here; the preset cpu builds a rondo that needs none"));
  if (bench::find_operator(a.operation)->has_math) {
    throw_if_error(check_factor_type(a.operation.c_str(), a.type));
    throw_if_error(check_math(a.operation.c_str(), a.math));
  }
  std::vector<bench::OperatorRequest> requests;
  for (const bench::Shape& shape : shapes_of(a))
    for (const std::string& pass : passes_of(a)) {
      requests.push_back({shape, a.kind, pass, a.type, a.math, a.transpose_a, a.transpose_b});
      // Refuses sizes before anything is measured.
      with_sizes_of(a, [&] { return bench::make_call(a.operation, requests.back()); });
    }
  BenchReport report = {.arguments = a,
                        .machine = bench::machine_name(),
                        .device = describe_device(0),
                        .cache = bench::last_level_cache(),
                        .peaks = bench::peaks()};
  for (const bench::OperatorRequest& request : requests) measure_call(a, request, peer, report);
  report.tensor_flops_per_second = bench::tensor_flops_per_second(report.arithmetic);
  if (peer) report.peer = peer->name();
  return report;
}

}  // namespace rondo::program
