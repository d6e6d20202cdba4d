#include "stack_guard.h"

#include <link.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

#include "../base/wrong_address.h"
#include "block.h"
#include "fiber.h"

namespace simt {

namespace {

constexpr size_t kBytes = 64 << 10;

struct sigaction previous_action;

// The code of the C library. A thread that faults there may hold a lock of the library.
uintptr_t c_library_begin = 0, c_library_end = 0;

int find_c_library(dl_phdr_info* info, size_t, void*) {
  if (!info->dlpi_name || !std::strstr(info->dlpi_name, "/libc.so")) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    c_library_begin = info->dlpi_addr + part.p_vaddr;
    c_library_end = c_library_begin + part.p_memsz;
  }
  return 1;
}

void print(const char* text) { static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text))); }

#ifdef __x86_64__
struct WrongAccess {
  uintptr_t address;
  bool known;  // the processor tells the address only if it can be that of memory
};
thread_local constinit WrongAccess wrong_access = {0, false};

[[noreturn]] void raise_fault() {
  const WrongAccess access = wrong_access;
  running_block("a memory access").fail(cudaErrorIllegalAddress, [&] {
    return "accesses " +
           (access.known ? description_of(access.address) : "an address that no memory can have");
  });
}

// Lets the thread continue in raise_fault() instead of the kernel. Not if it may hold a lock.
bool continue_with_fault(const Fiber& fiber, const siginfo_t& info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto pc = static_cast<uintptr_t>(registers[REG_RIP]),
             stack = static_cast<uintptr_t>(registers[REG_RSP]);
  constexpr uintptr_t kNeeded = 16 << 10;  // bytes of the stack, to describe the fault
  const uintptr_t left = stack - reinterpret_cast<uintptr_t>(fiber.stack_begin);
  if (left >= fiber.stack_bytes || left < kNeeded) return false;
  if (pc - c_library_begin < c_library_end - c_library_begin) {
    print(
        "simt: a function of the C library that a kernel called accesses an address without memory: kernel ");
    print(running_block("a memory access").kernel().name.c_str());
    print("\n");
    return false;
  }
  wrong_access = {reinterpret_cast<uintptr_t>(info.si_addr), info.si_code != SI_KERNEL};
  constexpr uintptr_t kRedZone = 128;
  registers[REG_RSP] = static_cast<greg_t>((stack - kRedZone) / 16 * 16 - 8);  // as behind a call
  registers[REG_RIP] = reinterpret_cast<greg_t>(&raise_fault);
  return true;
}
#else
bool continue_with_fault(const Fiber&, const siginfo_t&, void*) { return false; }
#endif

void on_fault(int signal, siginfo_t* info, void* context) {
  const Fiber* fiber = detail::arriving;
  const char* address = static_cast<const char*>(info->si_addr);
  if (fiber && address < fiber->stack_begin && address >= fiber->stack_begin - kGuardBytes)
    print("simt: a CUDA thread has used up its stack: its local variables and calls need more than 64 KiB\n");
  else if (fiber && in_block() && continue_with_fault(*fiber, *info, context))
    return;
  sigaction(signal, &previous_action,
            nullptr);  // the instruction faults again and ends the program with the previous action
}

}  // namespace

StackGuard::StackGuard() {
  if (kAddressSanitizer || kThreadSanitizer) return;  // the sanitizers have their own handlers
  static std::once_flag once;
  std::call_once(once, [] {
    dl_iterate_phdr(find_c_library, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previous_action);
  });
  memory_ = std::make_unique<char[]>(kBytes);
  const stack_t stack = {.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = kBytes};
  sigaltstack(&stack, nullptr);
}

StackGuard::~StackGuard() {
  if (!memory_) return;
  const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
}

}  // namespace simt
