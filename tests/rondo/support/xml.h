// A small check for well-formed XML: elements are closed in order, attributes are quoted and unique, and
// there is no unescaped & or <. It covers the XML that Rondo writes, without DTDs and CDATA.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <vector>

namespace rondo::test {

class XmlCheck {
 public:
  // Empty if `text` is well-formed, else the fault.
  static std::string fault(const std::string& text) { return XmlCheck(text).run(); }

 private:
  explicit XmlCheck(const std::string& text) : text_(text) {}

  std::string run() {
    if (text_.compare(0, 5, "<?xml") == 0) at_ = text_.find("?>") + 2;
    bool seen_root = false;
    while (at_ < text_.size()) {
      if (text_[at_] == '<') {
        if (open_.empty() && seen_root) return say("something after the root element");
        seen_root = true;
        const std::string wrong = tag();
        if (!wrong.empty()) return wrong;
      } else if (text_[at_] == '&') {
        if (!reference()) return say("a bare &");
      } else {
        if (open_.empty() && !std::isspace(static_cast<unsigned char>(text_[at_])))
          return say("text outside the root");
        if (static_cast<unsigned char>(text_[at_]) < 0x20 && text_[at_] != '\n')
          return say("a control character");
        ++at_;
      }
    }
    if (!open_.empty()) return say("<" + open_.back() + "> is not closed");
    return seen_root ? "" : say("no element");
  }

  std::string tag() {
    const bool closes = text_.compare(at_, 2, "</") == 0;
    at_ += closes ? 2 : 1;
    const std::string element = name();
    if (element.empty()) return say("a bare <");
    std::set<std::string> attributes;
    for (;;) {
      const bool spaced = skip_space();
      if (text_.compare(at_, 2, "/>") == 0 && !closes) {
        at_ += 2;
        return "";
      }
      if (at_ < text_.size() && text_[at_] == '>') {
        ++at_;
        if (!closes) {
          open_.push_back(element);
          return "";
        }
        if (open_.empty() || open_.back() != element) return say("</" + element + "> closes nothing");
        open_.pop_back();
        return "";
      }
      const std::string attribute = name();
      if (closes || attribute.empty() || !spaced) return say("a broken tag <" + element);
      if (!attributes.insert(attribute).second) return say("attribute " + attribute + " twice");
      if (text_.compare(at_, 2, "=\"") != 0) return say("an unquoted attribute");
      for (at_ += 2; at_ < text_.size() && text_[at_] != '"';) {
        if (text_[at_] == '<') return say("a < in an attribute");
        if (text_[at_] == '&') {
          if (!reference()) return say("a bare & in an attribute");
        } else {
          ++at_;
        }
      }
      ++at_;
    }
  }

  bool reference() {
    for (const char* known : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
      const std::string spelling = known;
      if (text_.compare(at_, spelling.size(), spelling) == 0) {
        at_ += spelling.size();
        return true;
      }
    }
    return false;
  }

  std::string name() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-' ||
                                  text_[at_] == ':' || text_[at_] == '_')) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  bool skip_space() {
    const size_t begin = at_;
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ > begin;
  }

  std::string say(const std::string& what) const { return what + " at " + std::to_string(at_); }

  const std::string& text_;
  size_t at_ = 0;
  std::vector<std::string> open_;
};

}  // namespace rondo::test
