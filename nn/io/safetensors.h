// safetensors: a file format for named tensors, readable from Python.
// https://github.com/huggingface/safetensors
#pragma once

#include <rondo/kernels/core/status.h>
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
  std::vector<int64_t> shape;        // row-major, outermost dimension first; empty: a scalar
  std::span<const std::byte> bytes;  // little-endian
};

// Contents of a file. The tensors' bytes are in `data` and may be unaligned.
struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  // in file order
  std::unique_ptr<std::byte[]> data;

  const StoredTensor* find(const std::string& name) const;  // null if absent
};

// Reads a whole file. Sizes, offsets, shapes, duplicate names and the header's size (at most 100 MB) are
// checked before memory is allocated for them. Throws Error: bad_argument if the file cannot be opened or is
// invalid, out_of_resources if the disk or the memory fails.
Safetensors read_safetensors(const std::string& path);

// The same without the values: the tensors have no bytes. For checks of files that may be large.
Safetensors read_safetensors_head(const std::string& path);

// CRC-32 of the contents: of the header that write_safetensors() would write for the tensors sorted by name,
// then of their bytes in this order. It does not depend on the order of the tensors in a file. Throws as
// write_safetensors() does.
uint32_t checksum(std::span<const StoredTensor> tensors, const std::map<std::string, std::string>& metadata);

// Replaces the file (nn/io/durable_file.h). Tensors are written in descending order of element size,
// otherwise in the given order, so that each is aligned. Throws Error: bad_argument for a name that is
// duplicate, reserved or not UTF-8, a shape that does not match the bytes, or a header of more than 100 MB;
// and the errors of replace_file().
void write_safetensors(const std::string& path, std::span<const StoredTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace rondo
