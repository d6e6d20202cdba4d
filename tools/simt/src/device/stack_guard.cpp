#include "stack_guard.h"

#include <signal.h>
#include <unistd.h>

#include <mutex>

#include "fiber.h"

namespace simt {

namespace {

constexpr size_t kBytes = 64 << 10;

struct sigaction previous_action;

void on_fault(int signal, siginfo_t* info, void*) {
  const Fiber* fiber = detail::arriving;
  const char* address = static_cast<const char*>(info->si_addr);
  if (fiber && address < fiber->stack_begin && address >= fiber->stack_begin - kGuardBytes) {
    static constexpr char kMessage[] =
        "simt: a CUDA thread has used up its stack: its local variables and calls need more than 64 KiB\n";
    static_cast<void>(!write(STDERR_FILENO, kMessage, sizeof kMessage - 1));
  }
  sigaction(signal, &previous_action,
            nullptr);  // the instruction faults again and ends the program with the previous action
}

}  // namespace

StackGuard::StackGuard() {
  if (kAddressSanitizer || kThreadSanitizer) return;  // the sanitizers have their own handlers
  static std::once_flag once;
  std::call_once(once, [] {
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
