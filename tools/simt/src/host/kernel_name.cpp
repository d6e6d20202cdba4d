#include "kernel_name.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "../base/text.h"

namespace simt {
namespace {

// A file mapped for reading.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status;
    if (fstat(file, &status) == 0) {
      bytes_ = static_cast<size_t>(status.st_size);
      data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    }
    close(file);
  }
  ~MappedFile() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Returns `count` objects of type T at `offset`, or null beyond the end of the file.
  template <class T>
  const T* at(size_t offset, size_t count = 1) const {
    const bool inside = data_ != MAP_FAILED && offset <= bytes_ && count <= (bytes_ - offset) / sizeof(T);
    return inside ? reinterpret_cast<const T*>(static_cast<const char*>(data_) + offset) : nullptr;
  }

 private:
  void* data_ = MAP_FAILED;
  size_t bytes_ = 0;
};

// Kernels are in anonymous namespaces, which the dynamic linker does not export, so they are looked up in the
// symbol table of the file that contains them.
std::string symbol_in_file(const char* path, uintptr_t load_address, uintptr_t function) {
  const MappedFile file(path);
  const auto* header = file.at<Elf64_Ehdr>(0);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64) return {};
  const uintptr_t value = header->e_type == ET_EXEC ? function : function - load_address;
  const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (int i = 0; sections && i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
    const size_t count = sections[i].sh_size / sizeof(Elf64_Sym);
    const Elf64_Shdr& names = sections[sections[i].sh_link];
    const auto* symbols = file.at<Elf64_Sym>(sections[i].sh_offset, count);
    const auto* text = file.at<char>(names.sh_offset, names.sh_size);
    for (size_t s = 0; symbols && text && s < count; ++s)
      if (ELF64_ST_TYPE(symbols[s].st_info) == STT_FUNC && symbols[s].st_value == value &&
          symbols[s].st_name < names.sh_size)
        return text + symbols[s].st_name;
  }
  return {};
}

// The 16-bit types by their CUDA names.
std::string with_cuda_names(std::string name) {
  for (const auto& [ours, cudas] : {std::pair("simt::NarrowFloat<simt::Bfloat16Format>", "__nv_bfloat16"),
                                    std::pair("simt::NarrowFloat<simt::HalfFormat>", "__half")}) {
    const size_t length = std::strlen(ours);
    for (size_t at = 0; (at = name.find(ours, at)) != std::string::npos;) {
      const bool closes_another = name.compare(at + length, 2, " >") == 0;  // "> >" of nested templates
      name.replace(at, length + closes_another, cudas);
    }
  }
  return name;
}

std::string look_up(const void* kernel) {
  std::string symbol;
  Dl_info info = {};
  if (dladdr(kernel, &info) != 0) {
    const auto load_address = reinterpret_cast<uintptr_t>(info.dli_fbase);
    const auto function = reinterpret_cast<uintptr_t>(kernel);
    if (info.dli_fname) symbol = symbol_in_file(info.dli_fname, load_address, function);
    if (symbol.empty()) symbol = symbol_in_file("/proc/self/exe", load_address, function);
  }
  if (symbol.empty()) {
    TextStream text;
    text << "at " << kernel;
    return text.str();
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? with_cuda_names(name.get()) : symbol;
}

}  // namespace

std::string kernel_name(const void* kernel) {
  static std::mutex mutex;
  static auto& names = *new std::unordered_map<const void*, std::string>;
  std::lock_guard lock(mutex);
  const auto [entry, fresh] = names.try_emplace(kernel);
  if (fresh) entry->second = look_up(kernel);
  return entry->second;
}

}  // namespace simt
