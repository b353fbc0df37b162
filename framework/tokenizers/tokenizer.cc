#include "kusari/framework/tokenizers/tokenizer.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/utf8.h"
#include "kusari/framework/tokenizers/state.h"

namespace kusari::tokenizers {
namespace {

void check_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t size = utf8_character_size(text, at);
    if (size == 0) {
      throw ValueError("Tokenizer::encode: text is not UTF-8: byte " + std::to_string(at) + " is " +
                       std::to_string(static_cast<unsigned char>(text[at])));
    }
    at += size;
  }
}

/// Finds added tokens in a text from left to right, of those that begin at one place the longest.
class AddedFinder {
 public:
  AddedFinder(const std::vector<AddedToken>& added, std::string_view text) : added_{added}, text_{text} {
    for (const AddedToken& token : added) places_.push_back(text.find(token.text));
  }
  /// The next one from `at` on, and its place; null when there is none.
  const AddedToken* next(size_t at, size_t* place) {
    const AddedToken* best = nullptr;
    *place = std::string_view::npos;
    for (size_t i = 0; i < added_.size(); ++i) {
      if (places_[i] < at) places_[i] = text_.find(added_[i].text, at);
      const bool is_better =
          places_[i] < *place || (best != nullptr && places_[i] == *place && added_[i].text.size() > best->text.size());
      if (!is_better) continue;
      best = &added_[i];
      *place = places_[i];
    }
    return best;
  }

 private:
  const std::vector<AddedToken>& added_;
  std::string_view text_;
  std::vector<size_t> places_;
};

/// Bytes of the blanks at the end, or at the beginning, of a text.
constexpr std::string_view kBlanks = " \t\n\v\f\r";
size_t blanks_at_end(std::string_view text) { return text.size() - (text.find_last_not_of(kBlanks) + 1); }
size_t blanks_at_begin(std::string_view text) { return std::min(text.find_first_not_of(kBlanks), text.size()); }

/// Ids of pieces; those of a piece that comes again are remembered.
class PieceEncoder {
 public:
  explicit PieceEncoder(const Tokenizer::State& state) : state_{state} {}
  void encode(std::string_view text, bool is_first, std::vector<int32_t>* ids) {
    if (text.empty()) return;
    std::vector<std::string> pieces{std::string(text)};
    for (const Step& step : state_.steps) step(pieces, is_first);
    for (const std::string& piece : pieces) {
      if (piece.size() > kRemembered) {
        state_.bpe.encode(piece, ids);
        continue;
      }
      const auto [known, is_new] = known_.try_emplace(piece);
      if (is_new) state_.bpe.encode(piece, &known->second);
      ids->insert(ids->end(), known->second.begin(), known->second.end());
    }
  }

 private:
  static constexpr size_t kRemembered = 64;  // bytes; longer ones hardly come again

  const Tokenizer::State& state_;
  TextMap<std::vector<int32_t>> known_;
};

}  // namespace

Array Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  check_utf8(text);
  std::vector<int32_t> ids;
  if (options.add_special) ids = state_->before;
  PieceEncoder pieces(*state_);
  size_t done = 0;
  AddedFinder added(state_->added, options.parse_special ? text : std::string_view());
  size_t place = 0;
  while (const AddedToken* token = added.next(done, &place)) {
    std::string_view plain = text.substr(done, place - done);
    if (token->eats_left) plain.remove_suffix(blanks_at_end(plain));
    pieces.encode(plain, done == 0, &ids);
    ids.push_back(token->id);
    done = place + token->text.size();
    if (token->eats_right) done += blanks_at_begin(text.substr(done));
  }
  pieces.encode(text.substr(done), done == 0, &ids);
  if (options.add_special) ids.insert(ids.end(), state_->behind.begin(), state_->behind.end());
  return array(ids, {static_cast<int64_t>(ids.size())});
}

int64_t Tokenizer::size() const noexcept { return static_cast<int64_t>(state_->bpe.tokens.size()); }

std::optional<int64_t> Tokenizer::id(std::string_view token) const {
  const auto found = state_->bpe.ids.find(token);
  if (found == state_->bpe.ids.end()) return std::nullopt;
  return found->second;
}

std::string Tokenizer::bytes_of(int64_t id) const {
  if (id < 0 || id >= size()) {
    throw IndexError("Tokenizer: id is " + std::to_string(id) + ": it must be in [0, " + std::to_string(size()) + ")");
  }
  const std::string& token = state_->bpe.tokens[static_cast<size_t>(id)];
  if (state_->has_byte_level) return bytes_of_level(token);
  if (state_->has_byte_tokens && token.size() == 6 && token.starts_with("<0x") && token.back() == '>') {
    char* end = nullptr;
    const long byte = std::strtol(token.c_str() + 3, &end, 16);
    if (end == token.c_str() + 5) return std::string(1, static_cast<char>(byte));
  }
  if (state_->space.empty()) return token;
  std::string result;
  for (size_t at = 0; at < token.size();) {
    if (token.compare(at, state_->space.size(), state_->space) == 0) {
      result += ' ';
      at += state_->space.size();
    } else {
      result += token[at++];
    }
  }
  return result;
}

std::string Tokenizer::decode(const Array& ids, bool skip_special) const {
  if (!ids.is_defined() || !is_integral(ids.dtype())) {
    throw TypeError("Tokenizer::decode: ids " +
                    (ids.is_defined() ? std::string("has dtype ") + name(ids.dtype()) : std::string("is not given")) +
                    ": it must be an array of integers");
  }
  std::string text;
  for (const int64_t id : ids.astype(Dtype::int64).to_vector<int64_t>()) {
    const auto is_this = [id](const AddedToken& token) { return token.is_special && token.id == id; };
    if (skip_special && std::any_of(state_->added.begin(), state_->added.end(), is_this)) continue;
    text += bytes_of(id);
  }
  if (state_->strips_first && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

}  // namespace kusari::tokenizers
