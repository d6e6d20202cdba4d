// Programs in PTX text, run by the interpreter.
#pragma once

#include <device/interpreter.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace ptx_test {

// Allocations of the test: what kernels may access.
class TestMemory : public ptx::MemoryMap {
 public:
  template <class T>
  void add(std::vector<T>& data, bool writable = true) {
    const uint64_t begin = reinterpret_cast<uint64_t>(data.data());
    allocations_[begin] = {begin + data.size() * sizeof(T), writable};
  }
  bool find(uint64_t address, uint64_t* begin, uint64_t* end, bool* writable, std::string*) const override {
    auto found = allocations_.upper_bound(address);
    if (found == allocations_.begin() || address >= (--found)->second.first) return false;
    *begin = found->first;
    *end = found->second.first;
    *writable = found->second.second;
    return true;
  }

 private:
  std::map<uint64_t, std::pair<uint64_t, bool>> allocations_;
};

// Parameters of a launch, at an address that is a multiple of 64.
class Parameters {
 public:
  template <class... T>
  explicit Parameters(const T&... values) {
    (put(values), ...);
  }
  const unsigned char* data() const { return bytes_; }

 private:
  template <class T>
  void put(const T& value) {
    at_ = (at_ + alignof(T) - 1) / alignof(T) * alignof(T);
    std::memcpy(bytes_ + at_, &value, sizeof value);
    at_ += sizeof value;
  }
  alignas(64) unsigned char bytes_[1024] = {};
  size_t at_ = 0;
};

// A module with one kernel named "k" with the parameter `out` and the given body.
inline std::string kernel(const std::string& body, const std::string& declarations = "") {
  return ".version 8.5\n.target sm_90a\n.address_size 64\n" + declarations +
         "\n.visible .entry k(.param .u64 out, .param .u64 in) {\n"
         ".reg .pred %p<16>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .f32 %f<64>; .reg .b64 %rd<64>; .reg "
         ".f64 %d<16>;\n"
         "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];\n" +
         body + "\nret;\n}\n";
}

struct Program {
  explicit Program(const std::string& text) : module(ptx::load(text)) {
    launch.kernel = ptx::find_kernel(*module, "k");
  }

  // Runs all clusters one after another. Returns the fault, with error 0 if there was none.
  ptx::Fault run(const TestMemory& memory, const Parameters& parameters) {
    if (!launch.kernel) return {1, "there is no kernel k"};
    if (!allow_unsupported && !launch.kernel->unsupported.empty())
      return {1, "unsupported: " + launch.kernel->unsupported[0]};
    launch.memory = &memory;
    launch.parameters = parameters.data();
    try {
      if (together) {
        ptx::run_together(launch);
      } else {
        for (uint64_t cluster = 0; cluster < ptx::cluster_count(launch); ++cluster)
          ptx::run_cluster(launch, cluster);
      }
      return {0, ""};
    } catch (const ptx::Fault& fault) {
      return fault;
    }
  }
  // With buffers as the parameters `out` and `in`.
  template <class Out, class In>
  ptx::Fault run(std::vector<Out>& out, std::vector<In>& in) {
    TestMemory memory;
    memory.add(out);
    memory.add(in);
    return run(memory, Parameters(out.data(), in.data()));
  }
  template <class Out>
  ptx::Fault run(std::vector<Out>& out) {
    std::vector<uint32_t> in(1);
    return run(out, in);
  }

  std::shared_ptr<ptx::Module> module;
  ptx::Launch launch;
  bool together = false;
  bool allow_unsupported = false;  // the kernel has instructions that are not supported
};

// cudaError_t
constexpr int kIllegalAddress = 700, kMisaligned = 716, kLaunchFailure = 719, kNotSupported = 801;

const std::string kPool = ".extern .shared .align 1024 .b8 pool[];\n";  // dynamic shared memory

// The address out + 4 * thread in %rd3.
const std::string kOwnElement = "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd3, %rd1, %rd3;\n";

}  // namespace ptx_test
