// A peer that is a library of this process: it computes on Rondo's operands, and is timed as Rondo is.
#pragma once

#include <rondo/bench/timing/call_timer.h>
#include <rondo/tools/rondo/bench/peer.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

class LibraryPeer : public BenchPeer {
 public:
  void sample(bool cold, int64_t count, std::vector<double>& seconds) override;
  int64_t calls_per_sample(bool cold) const override { return (cold ? *cold_ : *hot_).calls_per_sample(); }

 protected:
  // Checks the result of the call, which is the library's, and prepares the samples. `operands` outlive the
  // peer's next begin(). Throws an Error if the result is wrong.
  void time(const std::string& library, bench::OperatorCall call, const bench::OperandSets& operands);
  // Before what the calls use is destroyed.
  void stop();

 private:
  Stream stream_;
  bench::OperatorCall call_;
  std::optional<bench::CallTimer> hot_, cold_;
};

// Opens the first of these shared libraries, which stays loaded: such libraries have state that lives as long
// as the process. Returns a function that finds an address by its name. Throws a bad_argument Error without
// one, and on the CPU executor.
std::function<void*(const std::string& name)> load_library(const char* peer,
                                                           const std::vector<const char*>& files);

}  // namespace rondo::program
