// StreamModel: a model of work on streams as CUDA orders it. It tracks the happens-before relation with
// vector clocks of streams and events, and for every granule of memory its last write and reads and the
// expression that it holds. It finds
//
//   - every pair of conflicting accesses to the same memory that no event orders, even if they do not collide
//     in a run;
//   - the expression that an operation computes: which shares are added, how often, and in which order.
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

// The number of an expression; equal expressions have equal numbers. 0: memory that was never written.
using Term = int;

class Terms {
 public:
  Term share(int rank, int64_t element) { return of(kShare, rank, element); }
  Term sum(Term a, Term b) { return of(kSum, a, b); }
  Term finished(Term a) { return of(kFinished, a, 0); }  // rounded or divided: the value of an output

 private:
  enum Kind { kShare, kSum, kFinished };
  Term of(Kind kind, int64_t a, int64_t b) {
    return numbers_.try_emplace({kind, a, b}, static_cast<Term>(numbers_.size()) + 1).first->second;
  }
  std::map<std::tuple<Kind, int64_t, int64_t>, Term> numbers_;
};

class StreamModel {
 public:
  // All accesses begin and end at multiples of `granule` bytes.
  explicit StreamModel(int64_t granule = 1) : granule_(granule) {}

  void record(cudaEvent_t event, cudaStream_t stream);
  void wait(cudaStream_t stream, cudaEvent_t event);
  void copy(cudaStream_t stream, void* to, const void* from, int64_t bytes);
  void sum(cudaStream_t stream, DType dtype, Reduction reduction, const ReduceArguments& arguments);
  void pack(cudaStream_t stream, void* bucket, std::span<const DataView> vectors, bool into_bucket);

  // Work of the caller: writes a vector, one term per element; reads a vector.
  void write(cudaStream_t stream, DataView vector, const std::vector<Term>& terms);
  std::vector<Term> read(cudaStream_t stream, ConstDataView vector);

  Terms& terms() { return terms_; }
  int64_t bytes_copied_on(cudaStream_t stream) { return bytes_copied_[stream]; }
  int64_t sums() const { return sums_; }
  // The first problems found.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  using Clock = std::vector<uint32_t>;  // [stream]: how much of its work happened before
  struct Access {
    size_t stream = 0;
    uint32_t time = 0;  // 0: never
  };
  struct Cell {
    Access written;
    std::vector<Access> read;  // reads since the write, the latest of each stream
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
  std::vector<std::vector<const char*>> work_;  // [stream][time - 1]: the kind of work
  std::unordered_map<cudaEvent_t, Clock> events_;
  std::unordered_map<uintptr_t, Cell> memory_;  // by granule
  std::unordered_map<cudaStream_t, int64_t> bytes_copied_;
  std::vector<std::string> problems_;
  Access now_;
  const Clock* clock_ = nullptr;  // of the current work
  int64_t sums_ = 0;
};

// While an object exists, the stream calls of the collectives go to `model` instead of the device.
class Interception {
 public:
  explicit Interception(StreamModel& model);
  ~Interception();
  Interception(const Interception&) = delete;
  Interception& operator=(const Interception&) = delete;
};

}  // namespace rondo::test
