// Options of `rondo allreduce` and the other collectives: those of nccl-tests and a few more.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/collectives/reduction.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/tools/rondo/collective/verb.h>
#include <rondo/tools/rondo/support/command.h>

#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

// Which of the ranks' times is reported.
enum class TimeOf { rank0, mean, least, most };

// The largest number of sizes of a command; only a mistyped -i exceeds it.
inline constexpr size_t kMostCollectiveSizes = 10'000;

struct CollectiveArguments {
  Verb verb = Verb::all_reduce;
  std::optional<std::vector<int>> devices;  // not given: `ranks` ranks, in turn on the present devices
  std::optional<int> ranks;                 // not given: kDefaultReplicas
  int64_t least_bytes = int64_t{32} << 20;
  std::optional<int64_t> most_bytes;  // not given: the larger of 32M and least_bytes
  int64_t step_bytes = 1 << 20;
  int factor = 0;  // 0: sizes grow by step_bytes
  int iterations = 20;
  int warmup = 1;
  int checks = 1;  // runs whose results are checked; 0: none
  std::vector<DType> dtypes = {DType::float32};
  std::vector<Reduction> reductions = {Reduction::sum};
  std::optional<int> root = 0;  // nothing: every rank in turn
  TimeOf time_of = TimeOf::mean;
  int misalign = 0;        // elements
  int graph_launches = 0;  // 0: the host enqueues every iteration
  Algorithm algorithm = Algorithm::automatic;
  int group = 0;     // ranks in a group of the hierarchical algorithm; 0: all
  int timeout = 60;  // seconds for which processes wait for each other
  std::string json;  // empty: not requested
  std::string trace;

  int64_t last_bytes() const;          // most_bytes, or its default
  std::vector<int64_t> sizes() const;  // bytes, ascending; more than kMostCollectiveSizes are refused
};

// One command for each of kVerbs.
void add_collectives(Program& program);

// As in nccl-tests, the suffixes K, M, G and T are powers of 1024: "64M" is 64 * 2^20 bytes. Also accepts the
// formats of read_byte_count(). At least 1.
int64_t parse_size(const std::string& option, const std::string& text);

const char* short_name_of(DType dtype);          // "float"
const char* short_name_of(Reduction reduction);  // "prod"

}  // namespace rondo::program
