#pragma once

#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

// Mixed precision by hand: a 16-bit model, and float32 copies of its parameters that an optimizer changes instead. The
// shorter way is Optimizer::use_fp32_update(), which keeps such copies itself. apex.fp16_utils.
namespace kusari::amp {

/// Makes a model compute in 16 bits: parameters and statistics become `dtype`, except those of normalizations, which
/// become float32. Gradients go. Parameters without a shape take the dtype when they get one, and an optimizer that was
/// set up before goes on. The model then wants 16-bit inputs: set config.dtype, by which converters cast batches, or
/// cast x by F::cast, or use amp::initialize(model, optimizer, "O2"), whose session casts inputs.
/// Throws ValueError when dtype is not float16 or bfloat16. apex.fp16_utils.network_to_half.
KUSARI_API Link& to_fp16(Link& model, Dtype dtype = Dtype::float16);

/// Float32 copies of parameters under "/0/value", "/1/value", ..., each with the name of its original: a target for an
/// optimizer.
class KUSARI_API MasterParameters : public Chain {
 public:
  size_t size() const noexcept { return copies_.size(); }
  Parameter& operator[](size_t i) noexcept { return copies_[i].value; }
  const Parameter& operator[](size_t i) const noexcept { return copies_[i].value; }
  void append(const Parameter& original);

 protected:
  size_t list_size() const noexcept override { return copies_.size(); }
  Link& list_item(size_t index) override { return copies_[index]; }

 private:
  struct Copy : public Link {
    explicit Copy(const Array& array) : value{*this, "value", array} {}
    Parameter value;
  };
  std::vector<Copy> copies_;
};

struct ParamLists {
  std::vector<Parameter*> model_params;
  MasterParameters master_params;
};

/// The model's parameters and float32 copies of them, in the same order:
///
///     amp::to_fp16(model);
///     auto [model_params, master_params] = amp::prep_param_lists(model);
///     optimizer.setup(master_params);
///     ...
///     model.cleargrads();
///     loss.backward({.loss_scale = 1024});
///     amp::model_grads_to_master_grads(model_params, master_params);
///     optimizer.update();
///     amp::master_params_to_model_params(model_params, master_params);
///
/// Throws StateError for a parameter without a shape. apex.fp16_utils.prep_param_lists.
KUSARI_API ParamLists prep_param_lists(Link& model);
/// Gives each float32 copy the gradient of its original, with the loss scale that it carries, or none if that has none.
/// Throws ValueError when the two lists do not match. apex.fp16_utils.model_grads_to_master_grads.
KUSARI_API void model_grads_to_master_grads(std::span<Parameter* const> model_params, MasterParameters& master_params);
/// Writes the float32 copies to their originals, rounded. Throws ValueError when the two lists do not match.
/// apex.fp16_utils.master_params_to_model_params.
KUSARI_API void master_params_to_model_params(std::span<Parameter* const> model_params,
                                              const MasterParameters& master_params);

}  // namespace kusari::amp
