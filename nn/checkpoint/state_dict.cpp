#include <rondo/kernels/core/counted.h>
#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/checkpoint/device_tensors.h>
#include <rondo/nn/checkpoint/state_dict.h>
#include <rondo/nn/io/about_file.h>
#include <rondo/nn/io/c_locale.h>
#include <rondo/nn/io/regular_file.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

namespace rondo::nn {
namespace {

// Where PyTorch has the values of a tensor: under another name, and with the sides in another order.
struct TorchTensor {
  std::string name;
  StoredType type;
  std::vector<int64_t> shape;
  std::vector<int64_t> sides;  // of Rondo's tensor
  std::vector<size_t> order;   // side i of PyTorch's is sides[order[i]]
};

bool is_vector(const Shape& shape) { return shape.height == 1 && shape.width == 1; }

// The image whose pixels a linear layer sums, flattened in the order of NHWC: PyTorch flattens NCHW. Between
// Flatten and the layer there may be operations on single elements.
Shape flattened_image(const Graph& graph, int value) {
  for (;;) {
    const Graph::ValueInfo& info = graph.values()[static_cast<size_t>(value)];
    if (!is_vector(info.shape)) return info.shape;
    if (info.alias_of >= 0) {
      value = info.alias_of;
      continue;
    }
    if (info.producer < 0) return info.shape;
    const Graph::Node& node = graph.nodes()[static_cast<size_t>(info.producer)];
    if (node.inputs.size() != 1 || !node.parameters.empty()) return info.shape;
    if (graph.value(node.inputs[0]).shape.size() != info.shape.size()) return info.shape;
    value = node.inputs[0];
  }
}

// The input of the operation that has the parameter.
Shape input_of_parameter(const Graph& graph, int parameter) {
  for (const Graph::Node& node : graph.nodes())
    if (std::ranges::find(node.parameters, parameter) != node.parameters.end() && !node.inputs.empty())
      return flattened_image(graph, node.inputs[0]);
  return {};
}

// Filters have four sides, KRSC here and OIHW there; the weights of linear layers have two, [inputs, outputs]
// here and [outputs, inputs] there; all others have the same order. Some parameters have a shape of their own
// there.
TorchTensor torch_tensor(const Graph& graph, const DeviceTensor& tensor, int parameter) {
  TorchTensor to = {tensor.name, tensor.type, tensor.shape, tensor.shape, {}};
  if (parameter >= 0) {
    const Parameter& here = graph.parameters()[static_cast<size_t>(parameter)];
    if (!here.torch_name.empty()) to.name = here.torch_name;
    if (!here.torch_shape.empty()) {
      to.shape = to.sides = here.torch_shape;
      to.order.resize(to.sides.size());
      std::iota(to.order.begin(), to.order.end(), size_t{0});
      // A linear layer behind Flatten, as below; its filter is [outputs, 1, 1, inputs].
      const Shape image = input_of_parameter(graph, parameter);
      if (tensor.shape.size() == 4 && image.size() == tensor.shape[3]) {
        to.sides = {tensor.shape[0], image.height, image.width, image.channels};
        to.order = {0, 3, 1, 2};
      }
      return to;
    }
  }
  if (tensor.shape.size() == 4) {
    to.order = {0, 3, 1, 2};
  } else if (tensor.shape.size() == 2) {
    const int64_t inputs = tensor.shape[0], outputs = tensor.shape[1];
    const Shape image = input_of_parameter(graph, parameter);
    to.shape = {outputs, inputs};
    if (image.size() != inputs) {
      to.order = {1, 0};
      return to;
    }
    to.sides = {image.height, image.width, image.channels, outputs};
    to.order = {3, 2, 0, 1};
    return to;
  } else {
    to.order.resize(tensor.shape.size());
    std::iota(to.order.begin(), to.order.end(), size_t{0});
  }
  for (size_t i = 0; i < to.order.size(); ++i) to.shape[i] = tensor.shape[to.order[i]];
  return to;
}

// Calls visit(index in PyTorch's order, index in Rondo's order) for each value.
template <class Visit>
void for_each_value(const TorchTensor& tensor, const Visit& visit) {
  const size_t sides = tensor.sides.size();
  std::vector<size_t> distances(sides), index(sides);  // of Rondo's sides, in PyTorch's order
  for (size_t i = 0; i < sides; ++i) {
    size_t distance = 1;
    for (size_t j = tensor.order[i] + 1; j < sides; ++j) distance *= static_cast<size_t>(tensor.sides[j]);
    distances[i] = distance;
  }
  size_t count = 1;
  for (const int64_t side : tensor.sides) count *= static_cast<size_t>(side);
  for (size_t there = 0, here = 0; there < count; ++there) {
    visit(there, here);
    for (size_t i = sides; i-- > 0;) {
      here += distances[i];
      if (++index[i] < static_cast<size_t>(tensor.sides[tensor.order[i]])) break;
      here -= index[i] * distances[i];
      index[i] = 0;
    }
  }
}

// The bits of a stored value as a float: of F64 the nearest, of other types the value itself.
uint32_t float_bits(const StoredTensor& tensor, size_t i) {
  uint32_t bits = 0;
  if (tensor.type == StoredType::f32) {
    std::memcpy(&bits, &tensor.bytes[4 * i], 4);
    return bits;
  }
  if (tensor.type == StoredType::f64) {
    double value = 0;
    std::memcpy(&value, &tensor.bytes[8 * i], 8);
    const auto nearest = static_cast<float>(value);
    if (std::isfinite(value) && !std::isfinite(nearest))
      throw Error(bad_argument("tensor '", shown_name(tensor.name), "' has the value ", value,
                               " (F64), which no float32 is near"));
    std::memcpy(&bits, &nearest, 4);
    return bits;
  }
  uint16_t half = 0;
  std::memcpy(&half, &tensor.bytes[2 * i], 2);
  if (tensor.type == StoredType::bf16) return uint32_t{half} << 16;
  __half value;
  std::memcpy(static_cast<void*>(&value), &half, 2);  // CUDA's type hides its bits
  const float exact = static_cast<float>(value);
  std::memcpy(&bits, &exact, 4);
  return bits;
}

bool begins_with_path(const std::string& name, const std::string& path) {
  return path.empty() || (name.starts_with(path) && (name.size() == path.size() || name[path.size()] == '.'));
}

// The longest path of `names` that the name begins with, or null.
const StateDictNames::value_type* longest_path(const std::string& name, const StateDictNames& names) {
  const StateDictNames::value_type* longest = nullptr;
  for (const auto& entry : names)
    if (begins_with_path(name, entry.first) && (!longest || entry.first.size() >= longest->first.size()))
      longest = &entry;
  return longest;
}

// Replaces the longest path of `names` that one of a tensor's names begins with: `here`, or `there`, the name
// that PyTorch gives the tensor of such a module.
std::string torch_name(const std::string& here, const std::string& there, const StateDictNames& names) {
  const auto *of_here = longest_path(here, names), *longest = longest_path(there, names);
  const bool by_there = longest && (!of_here || longest->first.size() >= of_here->first.size());
  const std::string& name = by_there || !of_here ? there : here;
  if (!by_there) longest = of_here;
  if (!longest) return name;
  std::string rest = name.substr(longest->first.size());
  if (rest.starts_with('.')) rest.erase(0, 1);
  return longest->second.empty() || rest.empty() ? longest->second + rest : longest->second + "." + rest;
}

struct Tensors {
  std::vector<DeviceTensor> here;
  std::vector<TorchTensor> there;
};

Tensors tensors_of(DataParallel& model, const StateDictNames& names) {
  Tensors tensors;
  tensors.here = parameter_tensors(model);
  const size_t parameters = tensors.here.size();
  for (DeviceTensor& state : state_tensors(model, false)) tensors.here.push_back(std::move(state));
  for (size_t i = 0; i < tensors.here.size(); ++i)
    tensors.there.push_back(
        torch_tensor(model.graph(), tensors.here[i], i < parameters ? static_cast<int>(i) : -1));
  const auto is_path_of = [](const std::string& path) {
    return [&path](const auto& tensor) { return begins_with_path(tensor.name, path); };
  };
  const char* const subject = names.file.empty() ? "names: " : "";
  for (const auto& [path, to] : names)
    if (std::ranges::none_of(tensors.here, is_path_of(path)) &&
        std::ranges::none_of(tensors.there, is_path_of(path)))
      throw Error(bad_argument(subject, "no tensor of the model begins with '", shown_name(path), "'"));
  std::map<std::string, std::string> taken;
  for (size_t i = 0; i < tensors.here.size(); ++i) {
    const DeviceTensor& tensor = tensors.here[i];
    TorchTensor& there = tensors.there[i];
    there.name = torch_name(tensor.name, there.name, names);
    if (const auto [other, is_new] = taken.emplace(there.name, tensor.name); !is_new)
      throw Error(bad_argument(subject, "'", other->second, "' and '", tensor.name, "' both become '",
                               shown_name(there.name), "'"));
  }
  return tensors;
}

// The same. Errors are about the file of the names, if they have one, and not about `path`.
Tensors tensors_for(const std::string& path, DataParallel& model, const StateDictNames& names) {
  return about_file(names.file.empty() ? path : names.file, [&] { return tensors_of(model, names); });
}

// "'a', 'b' and 3 more"
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMost ? concat(text, " and ", names.size() - kMost, " more") : text;
}

// Whether two shapes differ in sides of 1 only, such as a linear layer and a convolution of 1 x 1.
bool have_equal_sides(std::vector<int64_t> a, std::vector<int64_t> b) {
  std::erase(a, 1);
  std::erase(b, 1);
  return a == b;
}

// Whether values of this type can be read as parameters, which are float32.
bool is_real(StoredType type) {
  return type == StoredType::f32 || type == StoredType::f64 || type == StoredType::f16 ||
         type == StoredType::bf16;
}

// Whether a tensor that the model does not have is left out. PyTorch's modules have buffers of integers that
// follow from their settings, such as masks and positions. A buffer of real numbers could be a parameter.
bool can_be_left_out(const std::string& name, StoredType type) {
  switch (type) {
    case StoredType::boolean:
    case StoredType::u8:
    case StoredType::i8:
    case StoredType::u16:
    case StoredType::i16:
    case StoredType::u32:
    case StoredType::i32:
    case StoredType::u64:
    case StoredType::i64:
      return true;
    default:
      return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked");
  }
}

// The tensors of the file in the order of `wanted`. Throws an Error with all that do not fit.
std::vector<const StoredTensor*> matching(const Safetensors& file, const std::vector<TorchTensor>& wanted) {
  std::map<std::string, const StoredTensor*> stored;
  for (const StoredTensor& tensor : file.tensors) stored[tensor.name] = &tensor;
  std::vector<const StoredTensor*> found;
  std::vector<std::string> missing, others, unexpected;
  for (const TorchTensor& want : wanted) {
    const auto place = stored.find(want.name);
    const std::string name = concat("'", want.name, "' ");
    if (place == stored.end()) {
      missing.push_back(name + text_of(want.type, want.shape));
      continue;
    }
    const StoredTensor& tensor = *place->second;
    const bool fits = tensor.type == want.type || (is_real(tensor.type) && want.type == StoredType::f32);
    if (!fits || !have_equal_sides(tensor.shape, want.shape))
      others.push_back(concat(name, text_of(tensor.type, tensor.shape), ", must be ",
                              text_of(fits ? tensor.type : want.type, want.shape)));
    found.push_back(&tensor);
    stored.erase(place);
  }
  for (const auto& [name, tensor] : stored)
    if (!can_be_left_out(name, tensor->type))
      unexpected.push_back(concat("'", shown_name(name), "' ", text_of(tensor->type, tensor->shape)));
  std::string why;
  for (const auto& [what, names] :
       {std::pair("missing: ", &missing), std::pair("of another shape or type: ", &others),
        std::pair("not of the model: ", &unexpected)})
    if (!names->empty()) why += (why.empty() ? "" : "; ") + concat(what, listed(*names));
  if (!why.empty()) throw Error(bad_argument("it is not a state dict of this model: ", why));
  return found;
}

void load_state_dict(const Safetensors& file, DataParallel& model, const Tensors& tensors) {
  const std::vector<const StoredTensor*> found = matching(file, tensors.there);
  check_counters(found);
  model.world().check_same("the file's checksum", exact_text(checksum(file.tensors, file.metadata)));
  HostTensors host;
  for (size_t i = 0; i < found.size(); ++i) {
    const DeviceTensor& tensor = tensors.here[i];
    const auto bytes = static_cast<size_t>(bytes_of(tensor.type, tensor.shape));
    host.memory.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    std::byte* const to = host.memory.back().get();
    if (tensor.type == StoredType::i64)  // a counter
      std::memcpy(to, found[i]->bytes.data(), bytes);
    else
      for_each_value(tensors.there[i], [&](size_t there, size_t here) {
        const uint32_t bits = float_bits(*found[i], there);
        std::memcpy(to + 4 * here, &bits, 4);
      });
    host.tensors.push_back({tensor.name, tensor.type, tensor.shape, {to, bytes}});
  }
  std::vector<const StoredTensor*> contents;
  for (const StoredTensor& tensor : host.tensors) contents.push_back(&tensor);
  model.streams().synchronize();
  upload(tensors.here, contents);
  model.group().clear_nonfinite_value();
}

}  // namespace

StateDictNames read_state_dict_names(const std::string& path) {
  return about_file(path, [&] {
    const RegularFile file(path);
    const auto text = file.contents<std::string>(kMostTextBytes);
    StateDictNames names;
    names.file = path;
    constexpr const char* kExample = "{\"path in Rondo\": \"path in PyTorch\"}";
    try {
      const CLocale of_the_parser;
      const nlohmann::json json = nlohmann::json::parse(text);
      if (!json.is_object()) throw Error(bad_argument("it is no JSON object, must be such as ", kExample));
      for (const auto& [here, there] : json.items()) {
        if (!there.is_string())
          throw Error(bad_argument("'", shown_name(here), "' has no string, must be such as ", kExample));
        names[here] = there.get<std::string>();
      }
    } catch (const nlohmann::json::parse_error& error) {
      throw Error(bad_argument("it is no JSON at byte ", error.byte, ", must be such as ", kExample));
    }
    return names;
  });
}

void load_state_dict(const std::string& path, DataParallel& model, const StateDictNames& names) {
  const Tensors tensors = tensors_for(path, model, names);
  about_file(path, [&] {
    matching(read_safetensors_head(path), tensors.there);  // before its values, which may be many
    load_state_dict(read_safetensors(path), model, tensors);
  });
}

void load_weights(const std::string& path, DataParallel& model, const StateDictNames& names) {
  const bool is_ours = about_file(path, [&] { return has_rondo_format(read_safetensors_head(path)); });
  if (!is_ours) return load_state_dict(path, model, names);
  about_file(path, [&] {
    if (!names.empty())
      throw Error(bad_argument("it is a file of Rondo, whose names are those of the model: ",
                               "it must be read without names"));
    load_parameters(read_safetensors(path), model);
  });
}

void save_state_dict(const std::string& path, DataParallel& model, const StateDictNames& names) {
  const Tensors tensors = tensors_for(path, model, names);
  about_file(path, [&] {
    model.throw_if_failed();
    const HostTensors host = download(tensors.here);
    HostTensors converted;
    for (size_t i = 0; i < host.tensors.size(); ++i) {
      const StoredTensor& from = host.tensors[i];
      const auto size = static_cast<size_t>(size_of(from.type));
      converted.memory.push_back(std::make_unique_for_overwrite<std::byte[]>(from.bytes.size()));
      std::byte* const to = converted.memory.back().get();
      for_each_value(tensors.there[i], [&](size_t there, size_t here) {
        std::memcpy(to + size * there, &from.bytes[size * here], size);
      });
      converted.tensors.push_back(
          {tensors.there[i].name, from.type, tensors.there[i].shape, {to, from.bytes.size()}});
    }
    write_safetensors(path, converted.tensors, {{"format", "pt"}});
  });
}

}  // namespace rondo::nn
