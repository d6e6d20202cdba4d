// For each result: the lengths of the name and of the elements in bytes, the kind, the name, the elements.
#include <rondo/tests/readings/results_file.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>

namespace rondo::test {
namespace {

struct Header {
  uint64_t name_bytes, bytes;
  ElementKind kind;
};

template <class T>
bool read(std::ifstream& in, T* data, size_t bytes) {
  in.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(bytes));
  return static_cast<size_t>(in.gcount()) == bytes;
}

}  // namespace

void append_result(const std::filesystem::path& file, const std::string& name, const Output& output) {
  Header header = {};
  header.name_bytes = name.size(), header.bytes = output.bytes.size(), header.kind = output.kind;
  std::ofstream out(file, std::ios::app | std::ios::binary);
  out.write(reinterpret_cast<const char*>(&header), sizeof(header));
  out << name;
  out.write(reinterpret_cast<const char*>(output.bytes.data()),
            static_cast<std::streamsize>(output.bytes.size()));
  if (!out.flush()) throw std::runtime_error("could not write " + file.string());
}

std::map<std::string, Output> read_results(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("could not read " + file.string());
  const uint64_t size = std::filesystem::file_size(file);
  std::map<std::string, Output> results;
  for (Header header; in.peek() != std::ifstream::traits_type::eof();) {
    if (!read(in, &header, sizeof(header)) || header.name_bytes > size || header.bytes > size)
      throw std::runtime_error("the results end early: " + file.string());
    std::string name(header.name_bytes, 0);
    Output output = {header.kind, std::vector<unsigned char>(header.bytes)};
    if (!read(in, name.data(), name.size()) || !read(in, output.bytes.data(), output.bytes.size()))
      throw std::runtime_error("the results end early: " + file.string());
    if (!results.emplace(name, std::move(output)).second)
      throw std::runtime_error("two results have the name " + name);
  }
  return results;
}

}  // namespace rondo::test
