#include "kusari/framework/tokenizers/pattern.h"

#ifdef KUSARI_WITH_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

#include "kusari/framework/core/error.h"

namespace kusari::tokenizers {

#ifdef KUSARI_WITH_PCRE2
namespace {

std::string message_of(int error) {
  char text[256] = "";
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  return text;
}

}  // namespace

Pattern::Pattern(const std::string& expression) {
  int error = 0;
  PCRE2_SIZE place = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                   PCRE2_UTF | PCRE2_UCP, &error, &place, nullptr);
  if (code == nullptr) {
    throw ValueError("tokenizers::load: the pattern \"" + expression + "\" is wrong at byte " + std::to_string(place) +
                     ": " + message_of(error));
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where there is none, matches are slower
  code_ = std::shared_ptr<const void>(
      code, [](const void* c) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(c))); });
}

void Pattern::split(std::string_view text, std::vector<std::string>* pieces) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
      pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
  const auto add = [&](size_t from, size_t to) {
    if (to > from) pieces->emplace_back(text.substr(from, to - from));
  };
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                  PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match.get(), nullptr);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) throw ValueError("Tokenizer::encode: a pattern cannot be matched: " + message_of(found));
    const PCRE2_SIZE* const place = pcre2_get_ovector_pointer(match.get());
    add(done, place[0]);
    add(place[0], place[1]);
    at = done = place[1];
  }
  add(done, text.size());
}
#else
Pattern::Pattern(const std::string&) {
  throw StateError(
      "tokenizers::load: the tokenizer has patterns, and this library was built without PCRE2: install libpcre2-dev "
      "and "
      "build it again");
}
void Pattern::split(std::string_view, std::vector<std::string>*) const {}
#endif

}  // namespace kusari::tokenizers
