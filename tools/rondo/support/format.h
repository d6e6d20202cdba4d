// Formats numbers and names for output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::program {

std::string fixed(double value, int digits);       // 0.8312 for 4 digits
std::string scientific(double value, int digits);  // 2.05e+04 for 2 digits
std::string general(double value, int digits);     // 1.25, 1.25e+09 for 3 digits
std::string loss_text(double loss);                // 2.3026; 2.05e+04 from 1000 on
std::string grouped(int64_t value);                // 60,000
std::string grouped(int64_t value, const char* one);  // 60,000 steps for "step"; 1 step
std::string duration(double seconds);              // 8.2 s, 42 s, 2:31, 1:02:31
std::string byte_size(int64_t bytes);              // 47.1 MiB
std::string percent(double part, double whole);    // 35 %; - if `whole` is not positive

// Pads with spaces to `width` characters, which are UTF-8 code points, not bytes.
std::string left(const std::string& text, size_t width);
std::string right(const std::string& text, size_t width);

// "[cpu:0, cpu:1]"
std::string device_list(const std::vector<int>& devices);

}  // namespace rondo::program
