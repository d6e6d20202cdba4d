// Pieces of PTX text: words, numbers, lists of operands (PTX ISA, section "Syntax").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

bool is_space(char c);
bool is_digit(char c);
bool is_word(char c);  // of identifiers, directives and opcodes: letters, digits and _ $ % .

std::string_view trim(std::string_view text);

// The leading word of `text`.
std::string_view first_word(std::string_view text);
// The same of a directive, which needs no space behind it: ".reg" of ".reg.b16 a".
std::string_view first_directive(std::string_view text);

// Splits at the commas that are outside of brackets.
std::vector<std::string_view> split_list(std::string_view text);

// The elements of "{a, b}" or "(a, b)"; `text` itself if it has no brackets.
std::vector<std::string_view> elements_of(std::string_view text);

// Splits "add.rn.f32" at the dots; "shared::cta" stays one part.
std::vector<std::string_view> split_opcode(std::string_view opcode);

// A constant: integer in any base, 0f or 0d and the bits of a float. `bytes` is the width of the operand: 0f
// becomes a double where it is 8.
bool parse_number(std::string_view text, int bytes, uint64_t* value);

// A decimal number at the start of `text`, which advances behind it. False: there is none.
bool take_number(std::string_view& text, int* value);

// Replaces comments by spaces.
void blank_comments(std::string& text);

// The index behind the bracket that closes the '{' at `open`.
size_t end_of_braces(std::string_view text, size_t open);

}  // namespace ptx
