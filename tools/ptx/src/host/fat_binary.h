// FatBinary: the PTX that nvcc put into a program, one text for each architecture that it compiled for.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace ptx {

class FatBinary {
 public:
  // `data` is what nvcc's host code registers: a header and entries. It stays in memory.
  explicit FatBinary(const void* data);

  // The PTX of the newest architecture that a device of this compute capability runs, and that architecture,
  // as 10 * major + minor. Throws Fault if there is none.
  struct Code {
    std::string text;
    int architecture = 0;
  };
  Code code_for(int major, int minor) const;

 private:
  struct Entry {
    int architecture = 0;
    uint64_t flags = 0;
    const unsigned char* data = nullptr;
    size_t bytes = 0;       // as stored
    size_t text_bytes = 0;  // uncompressed; 0: it is not compressed
  };
  std::vector<Entry> ptx_;              // the newest architecture first
  std::set<std::string> machine_code_;  // architectures of SASS, which nothing here runs
  static std::string text_of(const Entry& entry);
};

}  // namespace ptx
