#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link.h"
#include "kusari/optimizers/gradient_exchange.h"

namespace kusari::detail {
namespace {

std::string model_text(Link& model) {
  std::string text;
  for (const auto& [path, parameter] : model.namedparams()) {
    text += path + "\t" +
            (parameter->is_initialized() ? std::string(name(parameter->dtype())) + " " + to_string(parameter->shape())
                                         : std::string("unknown shape")) +
            "\n";
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> lines_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t tab = text.find('\t', at), end = text.find('\n', tab);
    lines.emplace_back(text.substr(at, tab - at), text.substr(tab + 1, end - tab - 1));
    at = end + 1;
  }
  return lines;
}

}  // namespace

void compare_models(const char* call, collectives::Group& group, Link& model, bool unknown_may_fit) {
  const std::string own = model_text(model);
  const std::vector<std::string> texts = group.allgather({"comparison of models"}, own);
  const auto root = lines_of(texts[0]);
  for (int rank = 1; rank < group.size(); ++rank) {
    const auto other = lines_of(texts[static_cast<size_t>(rank)]);
    for (size_t i = 0; i < std::max(root.size(), other.size()); ++i) {
      const auto text = [&](const auto& lines) {
        return i < lines.size() ? "'" + lines[i].first + "' (" + lines[i].second + ")" : "no further parameter";
      };
      const bool is_unknown = unknown_may_fit && i < root.size() && i < other.size() &&
                              root[i].first == other[i].first &&
                              (root[i].second == "unknown shape" || other[i].second == "unknown shape");
      if (text(root) == text(other) || is_unknown) continue;
      const std::string message = std::string(call) + ": the models differ: " + group.describe(0) + " has " +
                                  text(root) + " where " + group.describe(rank) + " has " + text(other);
      group.fail("StateError: " + message);
      throw StateError(message);
    }
  }
}

}  // namespace kusari::detail
