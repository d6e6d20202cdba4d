// Unique: an object with an id that no other object of the program ever has, even at the same address.
#pragma once

#include <atomic>
#include <cstdint>

namespace rondo::nn {

class Unique {
 public:
  Unique() : id_(next()) {}
  Unique(const Unique&) = delete;
  Unique& operator=(const Unique&) = delete;
  uint64_t id() const { return id_; }

 private:
  static uint64_t next() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }
  uint64_t id_;
};

}  // namespace rondo::nn
