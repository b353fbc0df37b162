#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/inference/callable_model.h"
#include "kusari/framework/static_graph/passes_options.h"

namespace kusari {

struct InferenceSessionOptions {
  std::string name = {};  ///< in messages; default: the class of the model
  /// Parameters of a link are converted once, as Link::to does, floating inputs at entry, results of 16 bits to
  /// float32. Absent: as the model is.
  std::optional<Dtype> dtype = {};
  /// Shapes of the inputs of calls that the constructor prepares, in C order: .shapes = {{{1, 3, 224, 224}}}.
  std::vector<std::vector<Shape>> shapes = {};
  std::vector<Dtype> input_dtypes = {};  ///< of the calls in `shapes`; float32 for inputs beyond
  /// Calls get rows of zeros until their first axis has one of these sizes; larger ones are computed in parts. Each row
  /// of a result must depend on the same row of the inputs alone. Empty: shapes are taken as they are.
  std::vector<int64_t> batch_sizes = {};
  /// Once the calls in `shapes` are prepared, the session gives up its model: parameters that are only needed folded or
  /// packed are freed if nobody else has them, as nobody has those of an rvalue. Calls with other shapes throw
  /// StateError, and so does the constructor where a call cannot be recorded.
  bool release_parameters = false;
  /// A folder, made if needed, for files with what is computed of parameters alone (folded, turned and cast weights):
  /// the next session of the same parameters on a processor with the same instruction set, in this process or another,
  /// reads them. With config().autotune also what that has chosen, when the session ends. What cannot be read or is
  /// damaged is computed and written again. CPU alone. Empty: none.
  std::string cache = {};
  int max_plans = 8;  ///< kinds of inputs for which a recording is kept; the least recently used one goes
  StaticGraphPasses passes = {};
};

namespace inference {
class Session;
}

/// A trained model that any number of threads call at once, each result the same bits as if it were called alone. The
/// first call with inputs of certain shapes and dtypes (or the constructor, see InferenceSessionOptions::shapes)
/// records the kernels of the model with config().train off and without a graph; what follows from parameters alone is
/// computed then, once. Each call replays the rest. Threads that come with the same shapes wait for the recording,
/// others do not.
///
/// `model`: a link or another callable of Variables whose operator() is const, or an object with `Variables call(const
/// Variables&) const`. A link is copied, and the copy's parameters share their arrays with it; an rvalue is kept. The
/// numbers must stay as they are: a call throws StateError when somebody has written into the arrays since. A model
/// that cannot be recorded, because it reads numbers on the host, is called as it is; summary() says so and why.
///
/// The constructor throws StateError for a model with State members or with parameters that have no numbers yet,
/// ValueError for options out of range or for a dtype with a callable that is no link.
class KUSARI_API InferenceSession {
 public:
  using Options = InferenceSessionOptions;
  template <class Model>
  requires(!std::same_as<std::remove_cvref_t<Model>, InferenceSession>) explicit InferenceSession(
      Model&& model, InferenceSessionOptions options = {})
      : InferenceSession(inference::callable_model(std::forward<Model>(model)), std::move(options)) {}
  InferenceSession(InferenceSession&& other) noexcept;
  InferenceSession& operator=(InferenceSession&& other) noexcept;
  ~InferenceSession();

  /// The model's results for these inputs, in arrays that nothing else uses. Throws TypeError for a number of inputs
  /// that the model does not take, what the model throws for shapes and dtypes that it refuses, preceded by the
  /// session's name, and StateError when parameters have changed.
  Arrays run(const Arrays& inputs) const;
  /// The same into given arrays of the results' shapes and dtypes, in any memory order; on the CPU, without any
  /// allocation when inputs are dense, no batch is padded and the order is that of the kernels. They may be the inputs'
  /// memory. Throws TypeError when they do not fit.
  void run(const Arrays& inputs, const Arrays& outputs) const;

  /// The recordings: kernels, memory, what passes did, how long each took; calls in flight at most.
  std::string summary() const;
  /// How many recordings there are now.
  int plan_count() const;
  const std::string& name() const noexcept;

 private:
  InferenceSession(inference::CallableModel model, InferenceSessionOptions options);

  Owned<inference::Session> session_;
};

}  // namespace kusari
