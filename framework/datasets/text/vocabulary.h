#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::datasets {

struct VocabularyOptions {
  int64_t min_count = 1;     ///< words that come more rarely are left out
  int64_t max_size = 0;      ///< so many of the most frequent words at most, `unknown` included; 0: all
  std::string unknown = {};  ///< the word that stands for all that are left out, such as "<unk>"; "": none
};

/// Words, or characters, and their numbers (ids), 0 .. size() - 1, with how often each came.
class KUSARI_API Vocabulary {
 public:
  Vocabulary() = default;
  /// The words of a text, numbered in the order in which each first comes. With options.max_size or min_count the
  /// `unknown` word, if any, has the count of all that are left out, and comes last unless the text has it.
  /// Throws ValueError for a min_count below 1, a negative max_size, and more words than an int32 counts.
  explicit Vocabulary(std::span<const std::string> words, const VocabularyOptions& options = {});

  /// Adds to a word's count; a new word gets the next id. Returns its id.
  int32_t add(std::string_view word, int64_t count = 1);
  /// The word whose id others get that are not here; it must be.
  void set_unknown(std::string_view word);

  int64_t size() const noexcept { return static_cast<int64_t>(words_.size()); }
  bool contains(std::string_view word) const;
  /// The id of a word; of the unknown one when it is not here. Throws KeyError when there is none either.
  int32_t id(std::string_view word) const;
  /// Throws IndexError unless 0 <= id < size().
  const std::string& word(int64_t id) const;
  int64_t count(int64_t id) const;
  /// Of all words, for samplers: F::negative_sampling.
  const std::vector<int64_t>& counts() const noexcept { return counts_; }

  /// The ids of a text, int32 of shape (n).
  Array encode(std::span<const std::string> words) const;
  /// The words of ids, an integer array of any shape, in its order.
  std::vector<std::string> decode(const Array& ids) const;

 private:
  size_t slot_of(std::string_view word) const noexcept;
  int32_t find(std::string_view word) const noexcept;

  std::vector<std::string> words_;
  std::vector<int64_t> counts_;
  std::vector<int32_t> slots_;  // a hash table of ids, at most half of it taken; -1: no word
  int32_t unknown_ = -1;
};

}  // namespace kusari::datasets
