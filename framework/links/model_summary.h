#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"

namespace kusari {

/// What one call of a model does, by links and functions: what summary() returns.
struct KUSARI_API ModelSummary {
  /// A link, or a function that a link with children called itself.
  struct Row {
    std::string path;  ///< of the link: "/block/conv", "" for the model; of a function: that of its link
    std::string name;  ///< the link's class, or "F::relu"
    int depth = 0;     ///< in the tree; the model has 0
    bool is_function = false;
    int64_t calls = 0;           ///< 0: no call was seen
    std::vector<Shape> outputs;  ///< one of each call, without those that were there; of tuples the first
    int64_t parameters = 0;      ///< numbers in the link's own parameters, without those of links below
    int64_t operations = 0;      ///< multiply-adds of matrix products, convolutions, attention and recurrent layers
  };

  /// Links before what they called, in the order of the first calls; links of which no call was seen come last.
  std::vector<Row> rows;
  int64_t parameters = 0;  ///< numbers in all parameters
  int64_t parameter_bytes = 0;
  int64_t operations = 0;    ///< of all rows
  int64_t output_bytes = 0;  ///< of the results of all functions, without views

  /// A table with a row per link or function and the sums below; ends with a line feed.
  std::string text() const;
};

namespace detail {

/// `call` calls the model.
KUSARI_API ModelSummary summarize(Link& model, const Callable<void()>& call);

}  // namespace detail

/// Calls the model once with these inputs, as for a prediction (config.train off, no graph), and tells its links and
/// functions with the shapes of what they gave, their parameters and multiply-adds:
/// `std::cout << summary(model, {x}).text();`. Lazy links get their parameters; recurrent state is put back. A link of
/// your own whose operator() opens no LinkCall has no output of its own. Throws what the model throws.
/// chainer has none; as torchinfo.summary.
template <LinkType Model>
ModelSummary summary(Model& model, std::span<const Variable> inputs) {
  return detail::summarize(model, [&] { detail::call_spread(model, {inputs}, "summary"); });
}
template <LinkType Model>
ModelSummary summary(Model& model, std::initializer_list<Variable> inputs) {
  return summary(model, std::span<const Variable>(inputs.begin(), inputs.size()));
}

}  // namespace kusari
