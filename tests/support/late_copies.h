// LateCopies: in its scope the executor accesses pageable memory as late as CUDA allows (SIMT_LATE_COPIES).
#pragma once

#ifdef __SIMT__
#include <simt/settings.h>
#endif

namespace rondo::test {

class LateCopies {
 public:
  LateCopies() { set(true); }
  ~LateCopies() { set(before_); }
  LateCopies(const LateCopies&) = delete;
  LateCopies& operator=(const LateCopies&) = delete;

 private:
#ifdef __SIMT__
  static void set(bool late) { simt::set_late_copies(late); }
  bool before_ = simt::settings().late_copies;
#else
  static void set(bool) {}
  bool before_ = false;
#endif
};

}  // namespace rondo::test
