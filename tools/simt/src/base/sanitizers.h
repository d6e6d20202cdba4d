// The sanitizers' interface for fibers. Without a sanitizer all functions are empty.
//
// The build defines SIMT_THREAD_SANITIZER, because the executor's own files are compiled without
// instrumentation, so that the compiler does not define its macro: a scheduler that moves between fibers
// would look like one race of all accesses.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SIMT_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void __tsan_read_range(void* memory, unsigned long bytes);
void __tsan_write_range(void* memory, unsigned long bytes);
}
#endif

namespace simt {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;
inline void asan_leave(void** save, const void* stack, size_t bytes) {
  __sanitizer_start_switch_fiber(save, stack, bytes);
}
inline void asan_arrive(void* saved, const void** previous_stack, size_t* previous_bytes) {
  __sanitizer_finish_switch_fiber(saved, previous_stack, previous_bytes);
}
inline void asan_poison(const void* begin, size_t bytes) { __asan_poison_memory_region(begin, bytes); }
inline void asan_unpoison(const void* begin, size_t bytes) { __asan_unpoison_memory_region(begin, bytes); }
#else
inline constexpr bool kAddressSanitizer = false;
inline void asan_leave(void**, const void*, size_t) {}
inline void asan_arrive(void*, const void**, size_t*) {}
inline void asan_poison(const void*, size_t) {}
inline void asan_unpoison(const void*, size_t) {}
#endif

#ifdef SIMT_THREAD_SANITIZER
inline constexpr bool kThreadSanitizer = true;
inline void* tsan_make_fiber() { return __tsan_create_fiber(0); }
inline void tsan_destroy_fiber(void* fiber) { __tsan_destroy_fiber(fiber); }
inline void* tsan_this_fiber() { return __tsan_get_current_fiber(); }
// Without this flag every switch would order the two fibers and hide their races.
inline void tsan_switch(void* to) { __tsan_switch_to_fiber(to, __tsan_switch_to_fiber_no_sync); }
inline void tsan_release(const void* object) { __tsan_release(const_cast<void*>(object)); }
inline void tsan_acquire(const void* object) { __tsan_acquire(const_cast<void*>(object)); }
// For accesses of kernels in files that are not instrumented.
inline void tsan_read(const void* memory, size_t bytes) {
  __tsan_read_range(const_cast<void*>(memory), bytes);
}
inline void tsan_write(void* memory, size_t bytes) { __tsan_write_range(memory, bytes); }

// Memory that is allocated, written or freed in this scope belongs to the executor and is not checked, nor
// what the scope accesses for other threads. It must not contain a switch of fibers. Only in files without
// instrumentation.
struct TsanIgnore {
  TsanIgnore() {
    ++open;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~TsanIgnore() { end(); }
  // For a fiber that is abandoned: its destructors don't run.
  static void end_all() {
    while (open != 0) end();
  }

 private:
  static void end() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    --open;
  }
  static inline thread_local int open = 0;
};
#else
inline constexpr bool kThreadSanitizer = false;
inline void* tsan_make_fiber() { return nullptr; }
inline void tsan_destroy_fiber(void*) {}
inline void* tsan_this_fiber() { return nullptr; }
inline void tsan_switch(void*) {}
inline void tsan_release(const void*) {}
inline void tsan_acquire(const void*) {}
inline void tsan_read(const void*, size_t) {}
inline void tsan_write(void*, size_t) {}
struct TsanIgnore {
  TsanIgnore() {}
  static void end_all() {}
};
#endif

}  // namespace simt
