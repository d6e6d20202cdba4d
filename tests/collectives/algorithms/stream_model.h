// StreamModel: work on streams as CUDA orders it, and nothing else. It keeps what happens before what (vector
// clocks of streams and events), and for every segment of memory who wrote and read it last and which expression it
// holds. So it finds
//
//   every pair of accesses to the same memory, one of them a write, that no event puts in order, whether or not they
//   ever join_streams in a run, and
//   what an operation computes as an expression: which shares are added, each how often, in which order.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/collectives/reduce/reduce_vectors.h>
#include <rondo/collectives/data_view.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace rondo::test {

// An expression: a number for each, the same for the same. 0 is what was never written.
using Term = int;

class Terms {
 public:
  Term share(int rank, int64_t element) { return of(kShare, rank, element); }
  Term sum(Term a, Term b) { return of(kSum, a, b); }
  Term finished(Term a) { return of(kFinished, a, 0); }  // rounded or divided: what an output gets

 private:
  enum Kind { kShare, kSum, kFinished };
  Term of(Kind kind, int64_t a, int64_t b) {
    return numbers_.try_emplace({kind, a, b}, static_cast<Term>(numbers_.size()) + 1).first->second;
  }
  std::map<std::tuple<Kind, int64_t, int64_t>, Term> numbers_;
};

class StreamModel {
 public:
  // `granule`: all accesses begin and end at multiples of so many bytes.
  explicit StreamModel(int64_t granule = 1) : granule_(granule) {}

  void record(cudaEvent_t event, cudaStream_t stream);
  void wait(cudaStream_t stream, cudaEvent_t event);
  void copy(cudaStream_t stream, void* to, const void* from, int64_t bytes);
  void sum(cudaStream_t stream, DType dtype, Reduction reduction, const ReduceArguments& combination);
  void pack(cudaStream_t stream, void* bucket, std::span<const DataView> vectors, bool into_bucket);

  // Work of the caller: fills a vector, one term an element; reads it.
  void write(cudaStream_t stream, DataView vector, const std::vector<Term>& terms);
  std::vector<Term> read(cudaStream_t stream, ConstDataView vector);

  Terms& terms() { return terms_; }
  int64_t bytes_copied_on(cudaStream_t stream) { return bytes_copied_[stream]; }
  int64_t sums() const { return sums_; }
  // What is wrong; the first few.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  using Clock = std::vector<uint32_t>;  // [stream]: how much of its work has happened before
  struct Access {
    size_t stream = 0;
    uint32_t time = 0;  // 0: never
  };
  struct Cell {
    Access written;
    std::vector<Access> read;  // since then, the latest of each stream
    Term term = 0;
  };
  struct Stream {
    size_t index;
    Clock clock;
  };

  Stream& at(cudaStream_t handle);
  Access begin_work(cudaStream_t stream, const char* what);
  bool before(const Access& earlier) const;
  Term load(const void* address, int64_t bytes);
  void store(void* address, int64_t bytes, Term term);
  void report(const char* kind, const Access& earlier);

  int64_t granule_;
  Terms terms_;
  std::unordered_map<cudaStream_t, Stream> streams_;
  std::vector<std::vector<const char*>> work_;  // [stream][time - 1]: what it was
  std::unordered_map<cudaEvent_t, Clock> events_;
  std::unordered_map<uintptr_t, Cell> memory_;  // by granule
  std::unordered_map<cudaStream_t, int64_t> bytes_copied_;
  std::vector<std::string> problems_;
  Access now_;
  const Clock* clock_ = nullptr;  // of the work that is being done
  int64_t sums_ = 0;
};

// While one lives, what the collectives put on streams goes to `model` instead of the device.
class Interception {
 public:
  explicit Interception(StreamModel& model);
  ~Interception();
  Interception(const Interception&) = delete;
  Interception& operator=(const Interception&) = delete;
};

}  // namespace rondo::test
