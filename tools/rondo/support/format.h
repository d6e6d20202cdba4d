// Numbers and names as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::program {

std::string fixed(double value, int digits);     // 0.8312, 4 digits
std::string loss_text(double loss);              // 2.3026, and 2.05e+04 for what has diverged
std::string grouped(int64_t value);              // 60,000
std::string duration(double seconds);            // 8.2 s, 42 s, 2:31, 1:02:31
std::string byte_size(int64_t bytes);            // 47.1 MiB
std::string percent(double part, double whole);  // 35 %, and - where there is no whole

// Pads with spaces to `width` characters (not bytes: UTF-8 is counted by its characters).
std::string left(const std::string& text, size_t width);
std::string right(const std::string& text, size_t width);

// "[cpu:0, cpu:1]"
std::string device_list(const std::vector<int>& devices);

}  // namespace rondo::program
