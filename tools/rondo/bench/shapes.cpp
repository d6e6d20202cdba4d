#include <rondo/tools/rondo/bench/arguments.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <algorithm>

namespace rondo::program {
namespace {

const bench::Dimension& dimension_of(const bench::OperatorKind& kind, const std::string& option,
                                     const std::string& name) {
  std::vector<std::string> names;
  for (const bench::Dimension& dimension : kind.dimensions) {
    if (name == dimension.name) return dimension;
    names.emplace_back(dimension.name);
  }
  throw Error(bad_argument(option, " names the size '", name, "', must be ", any_of(names)));
}

// "m=256" at its equals sign.
std::pair<std::string, std::string> split_assignment(const std::string& option, const std::string& text,
                                                     const char* example) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error(bad_argument(option, " is '", text, "', must be such as ", example));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

int64_t read_size(const std::string& option, const bench::Dimension& dimension, const std::string& text) {
  return read_integer<int64_t>(concat(option, ", ", dimension.name), text, dimension.least, kMostSize);
}

}  // namespace

bench::Shape read_shape(const bench::OperatorKind& kind, const std::string& text) {
  bench::Shape shape(kind.dimensions);
  if (text.empty()) return shape;
  std::vector<std::string> given;
  for (const std::string& part : split(text, ',')) {
    const auto [name, value] = split_assignment("--shape", part, kShapeExample);
    const bench::Dimension& dimension = dimension_of(kind, "--shape", name);
    if (std::ranges::find(given, name) != given.end())
      throw Error(bad_argument("--shape is '", text, "', which names ", name, " twice"));
    given.push_back(name);
    shape.set(name, read_size("--shape", dimension, value));
  }
  return shape;
}

Sweep read_sweep(const bench::OperatorKind& kind, const std::string& text) {
  const auto [names, range] = split_assignment("--sweep", text, kSweepExample);
  const std::vector<std::string> parts = split(range, ':');
  if (parts.size() != 3 || parts[2].size() < 2 || (parts[2][0] != 'x' && parts[2][0] != '+'))
    throw Error(bad_argument("--sweep is '", text, "', must be such as ", kSweepExample));
  Sweep sweep;
  int64_t first = 0, last = 0;
  for (const std::string& name : split(names, ',')) {
    const bench::Dimension& dimension = dimension_of(kind, "--sweep", name);
    first = read_size("--sweep", dimension, parts[0]);
    last = read_size("--sweep", dimension, parts[1]);
    if (std::ranges::find(sweep.names, name) != sweep.names.end())
      throw Error(bad_argument("--sweep is '", text, "', which names ", name, " twice"));
    sweep.names.push_back(name);
  }
  if (last < first)
    throw Error(bad_argument("--sweep is '", text, "', its last size must be at least its first"));
  const bool is_factor = parts[2][0] == 'x';
  const int64_t step =
      read_integer<int64_t>("--sweep, the step", parts[2].substr(1), is_factor ? 2 : 1, kMostSize);
  if (is_factor && first == 0)
    throw Error(bad_argument("--sweep is '", text, "', must begin above 0 to be multiplied"));
  for (int64_t size = first; size <= last; size = is_factor ? size * step : size + step) {
    if (sweep.values.size() == kMostShapes)
      throw Error(bad_argument("--sweep is '", text, "', which has more than ", kMostShapes,
                               " sizes; use a larger step"));
    sweep.values.push_back(size);
  }
  return sweep;
}

const bench::OperatorKind& kind_of(const BenchArguments& arguments) {
  return *bench::find_kind(*bench::find_operator(arguments.operation), arguments.kind);
}

std::vector<bench::Shape> shapes_of(const BenchArguments& arguments) {
  const bench::Shape shape = read_shape(kind_of(arguments), arguments.shape);
  if (arguments.sweep.empty()) return {shape};
  const Sweep sweep = read_sweep(kind_of(arguments), arguments.sweep);
  std::vector<bench::Shape> shapes;
  for (const int64_t size : sweep.values) {
    bench::Shape& swept = shapes.emplace_back(shape);
    for (const std::string& name : sweep.names) swept.set(name, size);
  }
  return shapes;
}

std::vector<std::string> passes_of(const BenchArguments& arguments) {
  const std::vector<std::string>& passes = kind_of(arguments).passes;
  if (passes.empty()) return {""};
  if (arguments.pass == "all") return passes;
  return {arguments.pass};
}

}  // namespace rondo::program
