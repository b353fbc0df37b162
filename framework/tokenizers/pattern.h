#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kusari::tokenizers {

/// A regular expression over UTF-8 with Unicode's classes.
class Pattern {
 public:
  /// Throws ValueError, naming the place, for one that is wrong; StateError where the library has no PCRE2.
  explicit Pattern(const std::string& expression);
  /// The matches in a text and what lies between them, in order, without empty ones.
  void split(std::string_view text, std::vector<std::string>* pieces) const;

 private:
  std::shared_ptr<const void> code_;
};

}  // namespace kusari::tokenizers
