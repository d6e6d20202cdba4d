#include "translate.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "syntax.h"
#include "writer.h"

namespace simt::translate {
namespace {

constexpr std::string_view kQualifiers[] = {"__global__", "__device__",   "__host__",
                                            "__shared__", "__constant__", "__managed__"};

bool is_qualifier(const Token& token) {
  if (token.kind != Kind::identifier || token.text[0] != '_') return false;
  return std::find(std::begin(kQualifiers), std::end(kQualifiers), token.text) != std::end(kQualifiers);
}

struct Range {
  size_t begin = 0, end = 0;
  bool contains(size_t i) const { return begin < i && i < end; }
};

class Translator {
 public:
  explicit Translator(const Source& source)
      : source_(source), syntax_(source), edits_(source.tokens.size()) {}

  Translation run() {
    for (size_t i = 0; i < syntax_.size(); ++i)
      if (is_qualifier(syntax_.at(i))) qualified(i);
    for (const size_t i : shared_) shared_variable(i);
    for (const Body& body : bodies_) rewrite(body);
    for (size_t i = 0; i < syntax_.size(); ++i) {
      if (syntax_.at(i).system) continue;
      if (syntax_.is_triple(i, "<") && !syntax_.at(i - 1).is("operator")) launch(i);
      if (is_inline_assembly(i)) refuse(i, "inline PTX is not C++; tools/ptx runs what nvcc makes of it");
    }
    std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
      return std::tie(a.file, a.line) < std::tie(b.file, b.line);
    });
    return {write(source_, edits_), std::move(problems_)};
  }

 private:
  // The body of a function for the device, or of a lambda.
  struct Body {
    Range braces;
    std::set<std::string> parameters;
    bool is_kernel = false, is_for_host = false;
    Function function;
  };

  void refuse(size_t i, std::string message) {
    const Token& token = syntax_.at(i);
    std::string file = source_.files[static_cast<size_t>(token.file)];
    if (file.size() >= 2) file = file.substr(1, file.size() - 2);
    problems_.push_back({std::move(file), token.line, std::move(message)});
  }

  void erase(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) edits_[i].erased = true;
  }

  bool in_device_code(size_t i) const {
    return std::any_of(bodies_.begin(), bodies_.end(),
                       [&](const Body& body) { return body.braces.contains(i); });
  }

  // The innermost "{" around i, or kNowhere.
  size_t enclosing_brace(size_t i) const {
    for (size_t k = i; k-- > 0;) {
      if (syntax_.at(k).is("}") && syntax_.match(k) != kNowhere)
        k = syntax_.match(k);
      else if (syntax_.at(k).is("{"))
        return k;
    }
    return kNowhere;
  }

  // Whether the innermost "{" around i begins a class.
  bool in_class(size_t i) const {
    const size_t brace = enclosing_brace(i);
    if (brace == kNowhere) return false;
    for (size_t word = syntax_.begin_of_declaration(brace); word < brace; ++word)
      if (syntax_.at(word).is("struct") || syntax_.at(word).is("class") || syntax_.at(word).is("union"))
        return true;
    return false;
  }

  // Every qualifier is erased. The first of a declaration tells what is declared.
  void qualified(size_t i) {
    const Token& token = syntax_.at(i);
    const bool kernel = token.is("__global__");
    edits_[i].erased = true;
    if (kernel) edits_[i].before = "__attribute__((visibility(\"hidden\")))";
    if (token.system || token.is("__host__")) return;
    if (token.is("__shared__")) {
      shared_.push_back(i);
      return;
    }
    size_t before = i - 1;  // "[=]", or "[]<class T>"
    while (is_qualifier(syntax_.at(before))) --before;
    if (syntax_.at(before).is(">") && syntax_.before_angle(before) != kNowhere)
      before = syntax_.before_angle(before) - 1;
    if (syntax_.at(before).is("]") && !syntax_.at(before - 1).is("]")) {
      lambda(i);
      return;
    }
    const auto function = function_at(syntax_, i);
    if (!function) {
      if (kernel)
        refuse(i, "the name and the parameters of this kernel were not found");
      else
        device_variable(i);
      return;
    }
    if (kernel)
      kernels_[std::string(syntax_.at(function->name).text)].insert(
          syntax_.text(function->parameters, syntax_.match(function->parameters)));
    if (function->body == kNowhere) return;
    const auto known = std::find_if(bodies_.begin(), bodies_.end(),
                                    [&](const Body& body) { return body.braces.begin == function->body; });
    if (known != bodies_.end()) {
      known->is_kernel |= kernel;
      return;
    }
    add_body(*function, kernel);
  }

  void lambda(size_t i) {
    Function function;
    size_t k = i + 1;
    while (k < syntax_.size() && is_qualifier(syntax_.at(k))) ++k;
    if (syntax_.at(k).is("(")) function.parameters = k;
    while (k < syntax_.size() && !syntax_.at(k).is("{") && !syntax_.at(k).is(";"))
      k = syntax_.at(k).is("(") && syntax_.match(k) != kNowhere ? syntax_.match(k) + 1 : k + 1;
    if (!syntax_.at(k).is("{") || syntax_.match(k) == kNowhere) return;
    function.body = k;
    add_body(function, false);
  }

  void add_body(const Function& function, bool is_kernel) {
    Body body;
    body.braces = {function.body, syntax_.match(function.body)};
    body.is_kernel = is_kernel;
    body.function = function;
    if (function.parameters != 0)
      for (const Parameter& parameter : parameters_of(syntax_, function.parameters))
        body.parameters.insert(parameter.name);
    for (size_t k = function.begin; k < function.body; ++k) body.is_for_host |= syntax_.at(k).is("__host__");
    bodies_.push_back(std::move(body));
  }

  // A variable of the device, in the form of <simt/variables.h>: another name for its first copy, and what
  // the macros there would be. Constants need no more than their declaration.
  void device_variable(size_t i) {
    const size_t begin = syntax_.begin_of_declaration(i);
    size_t end = begin;
    bool constant = false, constant_memory = false, managed = false;
    for (; end < syntax_.size() && !syntax_.at(end).is(";"); ++end) {
      if (syntax_.at(end).is("<")) end = syntax_.after_angle(end) - 1;
      if (syntax_.at(end).is("(") || syntax_.at(end).is("{")) {
        if (syntax_.match(end) == kNowhere) return;
        end = syntax_.match(end);
      }
      constant |= syntax_.at(end).is("constexpr") || syntax_.at(end).is("const");
      constant_memory |= syntax_.at(end).is("__constant__");
      managed |= syntax_.at(end).is("__managed__");
    }
    if (end == syntax_.size() || !seen_declarations_.insert(begin).second) return;
    for (const Declarator& declarator : declarators_of(syntax_, begin, end)) {
      if (constant && !declarator.is_pointer) continue;
      if (in_class(begin) || syntax_.at(declarator.name - 1).is("::") || in_device_code(i)) {
        refuse(i, "a variable of a device must stand outside of classes and functions");
        return;
      }
      const std::string name(syntax_.at(declarator.name).text);
      const std::string first = managed ? name : "simt_first_" + name, slot = "simt_slot_" + name;
      std::string bind = "nullptr";
      const size_t already = edits_[end].after.size();
      if (!managed) {
        edits_[declarator.name].before += first;
        edits_[declarator.name].erased = true;
        edits_[end].after += " [[maybe_unused]] static thread_local auto [" + slot + ", " + name +
                             "] = simt::detail::bound_to(" + first + ");";
        bind = "[](void* copy) { simt::detail::bind_variable(" + first + ", " + slot + ", copy); }";
      }
      // A name is bound once in each scope, also if a declaration precedes the definition.
      if (!bound_.insert({enclosing_brace(begin), name}).second) {
        edits_[end].after.resize(already);
        continue;
      }
      const char* const kind = managed ? "managed" : constant_memory ? "constant" : "device";
      edits_[end].after += " [[maybe_unused]] static const simt::DeviceVariable simt_variable_" + name +
                           "(&" + first + ", sizeof(" + first + "), simt::VariableKind::" + kind + ", " +
                           bind + ");";
    }
  }

  // Pointers to dynamic shared memory that is declared outside, and the launch of a kernel by itself.
  void rewrite(const Body& body) {
    std::string begin, end;
    if (body.is_kernel) begin = launch_of_itself(body.function);
    std::set<std::string> mentioned;
    for (size_t i = body.braces.begin + 1; i < body.braces.end; ++i) {
      if (!syntax_.is_name(i) || syntax_.at(i - 1).is(".") ||
          (syntax_.at(i - 1).is(">") && syntax_.at(i - 2).is("-")))
        continue;
      const std::string name(syntax_.at(i).text);
      // clock() and malloc() of the C library are other functions.
      if ((name == "clock" || (name == "malloc" && !body.is_for_host)) && syntax_.at(i + 1).is("(") &&
          !syntax_.at(i - 1).is("::"))
        edits_[i].before += name == "clock" ? "simt::" : "simt::kernel_";
      if (name == "new" && !body.is_for_host && !syntax_.at(i + 1).is("(") &&
          !syntax_.at(i - 1).is("operator"))
        edits_[i].after += " (simt::kernel_heap)";
      if (dynamic_arrays_.count(name) != 0 && body.parameters.count(name) == 0) mentioned.insert(name);
    }
    if (!mentioned.empty()) {
      begin += " {";
      for (const std::string& name : mentioned)
        begin += " [[maybe_unused]] auto* const " + name + " = simt::dynamic_shared<decltype(" +
                 dynamic_arrays_.at(name) + ")>();";
      begin += " {";
      end = "}} ";
    }
    edits_[body.braces.begin].after += begin;
    edits_[body.braces.end].before = end + edits_[body.braces.end].before;
    // So that the host can launch it by its address alone, as a void*.
    const std::string name = body.is_kernel ? std::string(syntax_.at(body.function.name).text) : "";
    if (body.is_kernel && has_one_signature(body.function))
      edits_[body.braces.end].after +=
          " [[maybe_unused]] static const bool " + new_name("known") + " = simt::know_kernel(" + name + ");";
  }

  // Whether the name of the kernel alone is its address: not of templates, overloads and members.
  bool has_one_signature(const Function& function) const {
    if (function.template_list || in_class(function.begin)) return false;
    for (size_t k = function.begin; k < function.body; ++k)
      if (syntax_.at(k).is("auto") || syntax_.at(k).is("requires")) return false;
    return kernels_.at(std::string(syntax_.at(function.name).text)).size() == 1;
  }

  // if (simt::launch_is_pending())
  //   return simt::launch(static_cast<void (*)(decltype(a), ...)>(kernel<T>), a);
  std::string launch_of_itself(const Function& function) {
    std::string name(syntax_.at(function.name).text);
    if (syntax_.at(function.name + 1).is("<")) {  // a specialization
      name += syntax_.text(function.name + 1, function.parameters);
    } else if (function.template_list) {
      std::string arguments;
      for (Parameter& parameter : template_parameters_of(syntax_, *function.template_list)) {
        if (parameter.name.empty()) {
          parameter.name = new_name("Parameter");
          edits_[parameter.end - 1].after += " " + parameter.name;
        }
        arguments += (arguments.empty() ? "" : ", ") + parameter.name + (parameter.is_pack ? "..." : "");
      }
      if (!arguments.empty()) name += "<" + arguments + ">";
    }
    std::string types, values;
    for (Parameter& parameter : parameters_of(syntax_, function.parameters)) {
      if (parameter.name.empty()) {
        parameter.name = new_name("argument");
        edits_[parameter.end - 1].after += " " + parameter.name;
      }
      const std::string dots = parameter.is_pack ? "..." : "";
      types += (types.empty() ? "" : ", ") + ("decltype(" + parameter.name + ")") + dots;
      values += ", " + parameter.name + dots;
    }
    return " if (simt::launch_is_pending()) [[unlikely]] return simt::launch_pending(static_cast<void (*)(" +
           types + ")>(" + name + ")" + values + ");";
  }

  // `i` is the qualifier __shared__.
  void shared_variable(size_t i) {
    const size_t begin = syntax_.begin_of_declaration(i);
    size_t end = i;
    while (end < syntax_.size() && !syntax_.at(end).is(";")) {
      const bool bracket = syntax_.at(end).is("{") || syntax_.at(end).is("(") || syntax_.at(end).is("[");
      if (bracket && syntax_.match(end) == kNowhere) return;
      end = bracket ? syntax_.match(end) + 1 : end + 1;
    }
    if (end == syntax_.size()) return;
    bool external = false;
    for (size_t k = begin; k < end; ++k) {
      external |= syntax_.at(k).is("extern");
      if (syntax_.at(k).is("extern") || syntax_.at(k).is("static")) edits_[k].erased = true;
    }
    const std::string type = new_name("shared");
    int index = 0;
    edits_[begin].before = "struct " + type + " { " + edits_[begin].before;
    edits_[end].after += " };";
    for (const Declarator& declarator : declarators_of(syntax_, begin, end)) {
      const std::string name(syntax_.at(declarator.name).text);
      if (declarator.has_initializer)
        refuse(declarator.name, "a __shared__ variable can't be initialized: '" + name + "'");
      if (declarator.empty_bracket != kNowhere) {
        if (!external)
          refuse(declarator.name, "the array '" + name + "' has no size; dynamic shared memory is declared " +
                                      "extern __shared__");
        edits_[declarator.empty_bracket].before += "1";
      }
      if (!external) {
        edits_[end].after += " [[maybe_unused]] auto& " + name + " = simt::shared_variable<decltype(" + type +
                             "::" + name + "), " + type + ", " + std::to_string(index++) + ">();";
      } else if (in_device_code(i)) {
        edits_[end].after += " [[maybe_unused]] auto* const " + name + " = simt::dynamic_shared<decltype(" +
                             type + "::" + name + ")>();";
      } else {
        dynamic_arrays_[name] = type + "::" + name;
      }
    }
  }

  // `i` is the "<<<" of a launch.
  void launch(size_t i) {
    size_t close = i + 3;
    while (close < syntax_.size() && !(syntax_.is_triple(close, ">") && syntax_.at(close + 3).is("("))) {
      const Token& token = syntax_.at(close);
      if (token.is(";") || token.is("}")) break;
      const bool bracket = token.is("(") || token.is("[") || token.is("{");
      close = bracket && syntax_.match(close) != kNowhere ? syntax_.match(close) + 1 : close + 1;
    }
    if (!syntax_.is_triple(close, ">")) {
      refuse(i, "the '<<<' of this launch has no '>>>(' in its statement");
      return;
    }
    const auto within = std::find_if(bodies_.begin(), bodies_.end(),
                                     [&](const Body& body) { return body.braces.contains(i); });
    if (within != bodies_.end() && !within->is_for_host) {
      refuse(i, "a kernel that launches a kernel (dynamic parallelism) can't be run");
      return;
    }
    const size_t open = close + 3, end = syntax_.match(open);
    if (end == kNowhere) return;
    const size_t begin = syntax_.begin_of_postfix(i - 1);
    edits_[begin].before += "(simt::PendingLaunch(" + syntax_.text(i + 3, close) + "), ";
    erase(i, open);
    edits_[end].after = ")" + edits_[end].after;
  }

  bool is_inline_assembly(size_t i) const {
    const Token& token = syntax_.at(i);
    return (token.is("asm") || token.is("__asm__") || token.is("__asm")) && in_device_code(i);
  }

  std::string new_name(const char* what) {
    return std::string("simt_") + what + "_" + std::to_string(++names_);
  }

  const Source& source_;
  const Syntax syntax_;
  std::vector<Edit> edits_;
  std::vector<Problem> problems_;
  std::vector<Body> bodies_;
  std::vector<size_t> shared_;
  std::set<size_t> seen_declarations_;
  std::set<std::pair<size_t, std::string>> bound_;        // variables of devices, by scope
  std::map<std::string, std::set<std::string>> kernels_;  // parameters by name
  std::map<std::string, std::string> dynamic_arrays_;  // outside of functions: the member that has its type
  int names_ = 0;
};

}  // namespace

Translation translate(const Source& source) { return Translator(source).run(); }

}  // namespace simt::translate
