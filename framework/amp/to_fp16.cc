#include "kusari/framework/amp/to_fp16.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::amp {
namespace {

void check_lists(const char* call, std::span<Parameter* const> model_params, const MasterParameters& master_params) {
  const auto refuse = [&](const std::string& what) { throw ValueError(std::string("amp::") + call + ": " + what); };
  if (model_params.size() != master_params.size()) {
    refuse("there are " + std::to_string(model_params.size()) + " model_params but " +
           std::to_string(master_params.size()) + " master_params");
  }
  for (size_t i = 0; i < model_params.size(); ++i) {
    const Shape &own = model_params[i]->shape(), &copy = master_params[i].shape();
    if (own == copy) continue;
    refuse("model_params[" + std::to_string(i) + "] has shape " + to_string(own) + " but master_params[" +
           std::to_string(i) + "] has " + to_string(copy));
  }
}

}  // namespace

Link& to_fp16(Link& model, Dtype dtype) {
  if (!is_half(dtype)) {
    throw ValueError(std::string("amp::to_fp16: dtype is ") + name(dtype) + ": it must be float16 or bfloat16");
  }
  return model.to(dtype);
}

void MasterParameters::append(const Parameter& original) {
  Copy& copy = copies_.emplace_back(original.array().astype(Dtype::float32, true));
  copy.value.set_name(original.name());
  structure_changed();
}

ParamLists prep_param_lists(Link& model) {
  ParamLists lists;
  for (const auto& [path, parameter] : model.namedparams()) {
    if (!parameter->is_initialized()) {
      throw StateError("amp::prep_param_lists: " + path + " has no shape yet; call the model once before");
    }
    lists.model_params.push_back(parameter);
    lists.master_params.append(*parameter);
  }
  return lists;
}

void model_grads_to_master_grads(std::span<Parameter* const> model_params, MasterParameters& master_params) {
  check_lists("model_grads_to_master_grads", model_params, master_params);
  for (size_t i = 0; i < model_params.size(); ++i) {
    const Parameter& original = *model_params[i];
    Parameter& copy = master_params[i];
    copy.cleargrad();
    const Array gradient = original.grad();
    if (!gradient.is_defined()) continue;
    copy.set_grad(gradient.astype(Dtype::float32, true).to_device(copy.device()));
    detail::VariableNode::Saved& saved = copy.node()->saved_state();
    saved.loss_scale = original.loss_scale();
    saved.device_loss_scale = original.device_loss_scale();
  }
}

void master_params_to_model_params(std::span<Parameter* const> model_params, const MasterParameters& master_params) {
  check_lists("master_params_to_model_params", model_params, master_params);
  for (size_t i = 0; i < model_params.size(); ++i) model_params[i]->array().copy_from(master_params[i].array());
}

}  // namespace kusari::amp
