#include "kusari/framework/links/rnn/n_step.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/python_repr.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

using Members = std::initializer_list<const OptionalParameter*>;

std::vector<Variable> present(Members members) {
  std::vector<Variable> result;
  for (const OptionalParameter* member : members) {
    if (member->is_defined()) result.push_back(*member);
  }
  return result;
}

}  // namespace

// w(k): weight number k, of which the first half meets x.
#define KUSARI_N_STEP_WEIGHT(k) \
  w##k { *this, "w" #k, {out_size, (k) < gates ? in_size : out_size}, options.initial_w, (k) / 2 < gates }
#define KUSARI_N_STEP_BIAS(k) \
  b##k { *this, "b" #k, {out_size}, options.initial_bias, (k) / 2 < gates }

NStepWeights::NStepWeights(int64_t gates, int64_t in_size, int64_t out_size, const NStepOptions& options)
    : KUSARI_N_STEP_WEIGHT(0),
      KUSARI_N_STEP_WEIGHT(1),
      KUSARI_N_STEP_WEIGHT(2),
      KUSARI_N_STEP_WEIGHT(3),
      KUSARI_N_STEP_WEIGHT(4),
      KUSARI_N_STEP_WEIGHT(5),
      KUSARI_N_STEP_WEIGHT(6),
      KUSARI_N_STEP_WEIGHT(7),
      KUSARI_N_STEP_BIAS(0),
      KUSARI_N_STEP_BIAS(1),
      KUSARI_N_STEP_BIAS(2),
      KUSARI_N_STEP_BIAS(3),
      KUSARI_N_STEP_BIAS(4),
      KUSARI_N_STEP_BIAS(5),
      KUSARI_N_STEP_BIAS(6),
      KUSARI_N_STEP_BIAS(7),
      gates_{gates} {
  if (gates < 1 || gates > 4) {
    throw ValueError("L::NStepWeights: gates is " + std::to_string(gates) + ": it must be 1 to 4");
  }
}

#undef KUSARI_N_STEP_WEIGHT
#undef KUSARI_N_STEP_BIAS

std::vector<Variable> NStepWeights::ws() const { return present({&w0, &w1, &w2, &w3, &w4, &w5, &w6, &w7}); }
std::vector<Variable> NStepWeights::bs() const { return present({&b0, &b1, &b2, &b3, &b4, &b5, &b6, &b7}); }

void NStepWeights::infer(int64_t in_size) const {
  const OptionalParameter* const of_x[] = {&w0, &w1, &w2, &w3};
  for (int64_t k = 0; k < gates_; ++k) of_x[k]->infer(1, in_size);
}

NStepBase::NStepBase(const char* call, int64_t gates, int64_t directions, int64_t n_layers, int64_t in_size,
                     int64_t out_size, double dropout_ratio, const NStepOptions& options)
    : dropout{argument::zero_to_below_one(call, "dropout", dropout_ratio)},
      directions_{directions},
      n_layers_{argument::count(call, "n_layers", n_layers)},
      in_size_{size_or_infer(call, "in_size", in_size)},
      out_size_{argument::not_negative(call, "out_size", out_size)} {
  for (int64_t k = 0; k < n_layers * directions; ++k) {
    append(NStepWeights(gates, k < directions ? in_size : size_times(call, "out_size", out_size, directions), out_size,
                        options));
  }
}

NStepBase::Lists NStepBase::ws(const Variable& x) const {
  Lists result;
  for (size_t k = 0; k < size(); ++k) {
    if (static_cast<int64_t>(k) < directions_ && x.is_defined() && x.ndim() > 1) (*this)[k].infer(x.shape()[1]);
    result.push_back((*this)[k].ws());
  }
  return result;
}

NStepBase::Lists NStepBase::bs() const {
  Lists result;
  for (const NStepWeights& each : *this) result.push_back(each.bs());
  return result;
}

std::vector<std::pair<std::string, std::string>> NStepBase::printable_specs() const {
  return {{"n_layers", std::to_string(n_layers_)},
          {"in_size", in_size_ == kInfer ? "None" : std::to_string(in_size_)},
          {"out_size", std::to_string(out_size_)},
          {"dropout", python_repr(dropout)}};
}

}  // namespace kusari::links
