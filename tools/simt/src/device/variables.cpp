// The variables of device code: which there are, and the copy of each device.
#include "variables.h"

#include <simt/variables.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "../base/device_half.h"

namespace simt {
namespace {

constexpr size_t kAlignment = 256;

struct Freed {
  void operator()(char* memory) const { std::free(memory); }
};
using Storage = std::unique_ptr<char, Freed>;

struct Entry {
  char* first;
  size_t bytes;
  VariableKind kind;
  std::vector<char> initial;
  std::vector<void (*)(void*)> binders;  // one of each translation unit
  std::map<int, Storage> others;         // the copies of the devices after the first
  std::vector<bool> known;               // by device: new_variables_of() has returned it

  char* copy(int device) {
    if (device == 0 || kind == VariableKind::managed) return first;
    Storage& other = others[device];
    if (!other) {
      void* memory = nullptr;
      if (posix_memalign(&memory, kAlignment, bytes) != 0) throw std::bad_alloc();
      other.reset(static_cast<char*>(memory));
      std::memcpy(other.get(), initial.data(), bytes);
    }
    return other.get();
  }
  // Device code and the host name a variable by the address of any copy.
  bool has(const void* symbol) const {
    if (symbol == first) return true;
    for (const auto& [device, other] : others)
      if (symbol == other.get()) return true;
    return false;
  }
};

struct Variables {
  std::mutex mutex;
  std::vector<std::unique_ptr<Entry>> entries;
};
Variables& variables() {
  static Variables* const all = new Variables;  // kernels may run while the process ends
  return *all;
}

Variable described(Entry& entry, int device) {
  return {entry.copy(device), entry.bytes, entry.kind == VariableKind::constant,
          entry.kind == VariableKind::managed};
}

}  // namespace

DeviceVariable::DeviceVariable(const volatile void* first_copy, size_t bytes, VariableKind kind,
                               void (*bind)(void*)) {
  void* const first = const_cast<void*>(first_copy);
  Variables& all = variables();
  const std::lock_guard lock(all.mutex);
  Entry* entry = nullptr;
  for (const auto& known : all.entries)
    if (known->first == first) entry = known.get();  // declared in another translation unit
  if (!entry) {
    const char* const begin = static_cast<const char*>(first);
    all.entries.push_back(std::make_unique<Entry>(
        Entry{static_cast<char*>(first), bytes, kind, std::vector<char>(begin, begin + bytes), {}, {}, {}}));
    entry = all.entries.back().get();
  }
  if (bind) entry->binders.push_back(bind);
}

void bind_variables(int device) {
  Variables& all = variables();
  const std::lock_guard lock(all.mutex);
  for (const auto& entry : all.entries)
    for (const auto bind : entry->binders) bind(entry->copy(device));
  detail::bound_device = device;
}

std::optional<Variable> variable_of(const void* symbol, int device) {
  Variables& all = variables();
  const std::lock_guard lock(all.mutex);
  for (const auto& entry : all.entries)
    if (entry->has(symbol)) return described(*entry, device);
  return {};
}

std::vector<Variable> new_variables_of(int device) {
  Variables& all = variables();
  const std::lock_guard lock(all.mutex);
  std::vector<Variable> fresh;
  for (const auto& entry : all.entries) {
    const size_t index = entry->kind == VariableKind::managed ? 0 : static_cast<size_t>(device);
    if (entry->known.size() <= index) entry->known.resize(index + 1);
    if (entry->known[index]) continue;
    entry->known[index] = true;
    fresh.push_back(described(*entry, device));
  }
  return fresh;
}

void forget_variables(int device) {
  Variables& all = variables();
  const std::lock_guard lock(all.mutex);
  for (const auto& entry : all.entries) {
    if (entry->known.size() > static_cast<size_t>(device)) entry->known[static_cast<size_t>(device)] = false;
    if (entry->kind == VariableKind::managed && device != 0) continue;
    if (device != 0 && !entry->others.contains(device)) continue;
    std::memcpy(entry->copy(device), entry->initial.data(), entry->bytes);
  }
}

}  // namespace simt
