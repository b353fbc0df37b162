#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/tokenizers/bpe.h"
#include "kusari/framework/tokenizers/tokenizer.h"

// What tokenizer_json.cc reads and tokenizer.cc works with.
namespace kusari::tokenizers {

/// Changes the pieces of a text, or makes more of them. `is_first`: the first piece begins the whole text.
using Step = Callable<void(std::vector<std::string>& pieces, bool is_first)>;

/// `once`: pieces that begin with it stay as they are.
Step prepend(std::string text, bool once);
Step replace(std::string from, std::string to);
/// Splits at the matches of a regular expression, which become pieces.
Step split(const std::string& expression);
/// Bytes become characters that can be seen, as GPT-2 has them.
Step byte_level();
enum class MarkWhere : uint8_t { always, first, never };
/// Blanks become `mark`, which also stands before a piece; with `splits` each mark begins a piece.
Step mark_spaces(std::string mark, MarkWhere before, bool splits);

/// A token that is found in texts as it is written.
struct AddedToken {
  std::string text;
  int32_t id;
  bool is_special;             ///< skip_special leaves it out
  bool eats_left, eats_right;  ///< with the blanks beside it
};

struct Tokenizer::State {
  Bpe bpe;
  std::vector<Step> steps;
  std::vector<AddedToken> added;
  std::vector<int32_t> before, behind;  ///< what is added to each text
  // How tokens become text.
  bool has_byte_level = false;
  bool has_byte_tokens = false;  ///< "<0xE2>"
  std::string space;             ///< stands for a blank; "": nothing does
  bool strips_first = false;     ///< a blank that begins the text is left out
};

/// What a token of byte_level() stands for; as it is where it has other characters.
std::string bytes_of_level(std::string_view token);

}  // namespace kusari::tokenizers
