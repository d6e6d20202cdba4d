// The text of fault messages: places, coordinates, and which threads wait where.
#pragma once

#include <simt/barrier.h>
#include <vector_types.h>

#include <map>
#include <string>
#include <vector>

namespace simt {

std::string text(const Place& place);  // "gemm.cu:12 (void kernel(float*))"
std::string text(uint3 coordinates);   // "(1, 0, 0)"
std::string hexadecimal(unsigned value);

// Groups waiting threads by what they wait for.
class WaitReport {
 public:
  void add(unsigned thread, const std::string& what) { groups_[what].push_back(thread); }

  // "Threads 0-31, 40 wait at ...; threads 32-39 wait in ...; 12 of 64 have exited."
  std::string text(unsigned threads, unsigned exited, unsigned not_started) const;

 private:
  std::map<std::string, std::vector<unsigned>> groups_;
};

}  // namespace simt
