#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"

namespace kusari::tokenizers {

struct EncodeOptions {
  bool add_special = true;    ///< what the model wants around a text, such as "<s>" before it
  bool parse_special = true;  ///< "<|endoftext|>" in the text is that token; otherwise letters like all others
};

/// Byte pair encoding as trained language models have it: texts to ids and back, in tokenizer.json's way of GPT-2,
/// Llama 2, Llama 3 and their kind. Copies share what was read; threads may use one tokenizer at the same time.
/// Sennrich et al. 2016; github.com/huggingface/tokenizers.
class KUSARI_API Tokenizer {
 public:
  struct State;
  explicit Tokenizer(Shared<const State> state) : state_{std::move(state)} {}

  /// The ids of a text, int32 of shape (n). Throws ValueError, naming the byte, where it is not UTF-8.
  Array encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// The text of ids, integers of any shape, in their order; with `skip_special` without tokens such as "<s>". Throws
  /// IndexError for ids that there are not.
  std::string decode(const Array& ids, bool skip_special = false) const;

  /// Ids are below it.
  int64_t size() const noexcept;
  /// The id of a token as the model's files spell it; nullopt when there is none.
  std::optional<int64_t> id(std::string_view token) const;
  /// What a token adds to a text: bytes that need not be whole characters, for texts that are shown as they grow.
  /// Throws IndexError.
  std::string bytes_of(int64_t id) const;

 private:
  Shared<const State> state_;
};

/// The tokenizer of a model: tokenizer.json, or GPT-2's vocab.json and merges.txt, in its folder. Throws IoError for
/// missing and damaged files, ValueError for tokenizers that work in another way, naming what is not known, StateError
/// where the library was built without PCRE2 (CMake option KUSARI_PCRE2) and the tokenizer has patterns.
KUSARI_API Tokenizer load(const std::string& folder);

}  // namespace kusari::tokenizers
