// safetensors: files of named tensors, which Python and others read too. https://github.com/huggingface/safetensors
#pragma once

#include <rondo/nn/io/safetensors_header.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rondo {

struct StoredTensor {
  std::string name;
  StoredType type;
  std::vector<int64_t> shape;        // row-major, outermost dimension first; empty: a single number
  std::span<const std::byte> bytes;  // little-endian
};

// What a file holds. The tensors' bytes lie in `data`, where they need not be aligned.
struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  // in the order of the file
  std::unique_ptr<std::byte[]> data;

  const StoredTensor* find(const std::string& name) const;  // null: not there
};

// Reads a file whole. Everything that it says of itself is checked before memory is taken for it: sizes, offsets, shapes,
// names that come twice, a header of more than 100 MB. Throws Error: bad_argument where the file can't be opened or is not
// what it should be, out_of_resources where the disk or the memory fails.
Safetensors read_safetensors(const std::string& path);

// CRC-32 of everything that a file with these contents says: the header that write_safetensors() would write
// if the tensors lay in the order of their names, then their bytes in this order. It does not depend on where
// in a file they lie. Throws as write_safetensors() does.
uint32_t checksum(std::span<const StoredTensor> tensors, const std::map<std::string, std::string>& metadata);

// Replaces the file (nn/io/durable_file.h). The tensors are laid out by falling size of their elements, otherwise in the given
// order, so that each is aligned. Throws Error: bad_argument for a name that comes twice, is reserved or not UTF-8, a shape
// that does not belong to the bytes, a header of more than 100 MB; and what replace_file() throws.
void write_safetensors(const std::string& path, std::span<const StoredTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace rondo
