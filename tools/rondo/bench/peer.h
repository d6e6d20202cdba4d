// A peer of `rondo bench`: another implementation that computes the same, timed in turns.
#pragma once

#include <rondo/bench/operators/operators.h>
#include <rondo/tools/rondo/bench/arguments.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rondo::program {

// What a peer computes: a call of Rondo's, on the same operands, or on as many sets of its own.
struct PeerWork {
  std::string operation;
  bench::OperatorRequest request;
  const bench::OperandSets* operands = nullptr;
};

// What a peer cannot compute: a bad_argument.
class PeerRefusal : public Error {
 public:
  using Error::Error;
};

class BenchPeer {
 public:
  virtual ~BenchPeer() = default;
  virtual std::string name() const = 0;  // "PyTorch 2.15.0, eager"
  // Prepares the calls. Throws an Error if the peer cannot compute them, or computes something else.
  virtual void begin(const PeerWork& work) = 0;
  // Appends the times of a call, in seconds, of `count` samples. A sample has calls_per_sample() calls.
  virtual void sample(bool cold, int64_t count, std::vector<double>& seconds) = 0;
  virtual int64_t calls_per_sample(bool cold) const = 0;
};

// The peer that the arguments name, or null. Throws a bad_argument Error that names what is missing.
std::unique_ptr<BenchPeer> make_peer(const BenchArguments& arguments);
std::unique_ptr<BenchPeer> make_torch_peer(const std::string& python);

}  // namespace rondo::program
