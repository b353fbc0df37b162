#pragma once

#include <map>
#include <set>
#include <string>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/export.h"

namespace kusari::amp {

/// What Autocast does with the floating inputs of functions, by FunctionNode::name() (and by the names of functions
/// that are made of others, such as huber_loss). Names of functions that nobody calls do no harm. Where a name is on
/// several lists, the first of these decides. A copy can be changed and given to Autocast, which it must outlive:
///
///     amp::PrecisionLists lists = amp::autocast_lists();
///     lists.full.insert("tanh");
///     const amp::Autocast autocast({.lists = &lists});
struct PrecisionLists {
  using Names = std::set<std::string, std::less<>>;

  std::map<std::string, std::string, std::less<>> refused;  ///< throws ValueError; with what to call instead
  Names full;                                               ///< 16-bit inputs are converted to float32
  Names low;                                                ///< all inputs are converted to the 16-bit dtype
  Names widest;                                             ///< where the inputs differ, to the widest dtype among them
  Names narrowest;                                          ///< where the inputs differ, to the 16-bit dtype
  Names untouched;  ///< none: functions that take inputs of different dtypes, or just move elements
  Precision unlisted = Precision::widest;  ///< what holds for every other function; not `listed`
};

/// PyTorch's lists. Multiplications run in 16 bits; functions that leave the range of float16 or add up many elements,
/// and all losses, in float32; the rest in the dtype of what comes. "Autocast Op Reference",
/// https://pytorch.org/docs/stable/amp.html.
KUSARI_API const PrecisionLists& autocast_lists();

/// TensorFlow's lists, for programs that its graph rewrite trained well: allow is `low`, deny `full`, infer `narrowest`
/// (a bias or a residual in float32 follows the 16-bit branch that it is added to), clear `untouched` where the
/// function has one floating input and `widest` where it has several, and whatever TensorFlow does not name stays in
/// float32. They keep less in float32 than PyTorch's: softmax, log and products of functions follow their inputs. The
/// rewrite sees the whole graph and may convert an infer function because of those behind it; here only what came
/// before it counts. tensorflow/core/grappler/optimizers/auto_mixed_precision_lists.h.
KUSARI_API const PrecisionLists& tensorflow_lists();

}  // namespace kusari::amp
