// The known word that was probably meant by an unknown one: "did you mean --lr?"
#pragma once

#include <string>
#include <vector>

namespace rondo::program {

// Returns the word of `known` that is most similar to `word`, or "" if none is. Leading hyphens, upper case
// and underscores for hyphens make no difference. Similar are words with a few different letters ("--bacth"
// and "--batch"), a word and its beginning ("--batch-size", "--batch"), and words and their initials
// ("--learning-rate", "--lr").
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace rondo::program
