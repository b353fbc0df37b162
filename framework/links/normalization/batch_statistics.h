#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/first_call.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

/// Options of one call of a batch normalization.
struct BatchNormalizationCall {
  bool finetune = false;  ///< while training: avg_mean and avg_var become the averages over all batches of this kind
  Array sums = {};        ///< L::BatchNormalization: see functions::BatchNormalizationOptions
};

/// What the batch normalizations own: scale and shift, and the statistics that replace those of a batch when not
/// training.
class KUSARI_API BatchStatistics : public Link {
 public:
  /// Forgets how many batches were averaged: the next call with {.finetune = true} starts anew.
  void start_finetuning() noexcept { N = 0; }
  std::vector<std::pair<std::string, std::string>> printable_specs() const override;
  bool keeps_float32() const noexcept override { return true; }
  /// Reading throws TypeError for averages that fit neither each other nor gamma and beta.
  void serialize(Serializer& serializer) override;

  double decay;             ///< of the moving averages
  double eps;               ///< added to the variances
  OptionalParameter gamma;  ///< of the size; absent: 1
  OptionalParameter beta;   ///< of the size; absent: 0
  // A call of a const link that trains changes these, too.
  mutable Persistent avg_mean;  ///< of the size; undefined until it is known
  mutable Persistent avg_var;
  mutable PersistentScalar<int64_t> N;  ///< batches averaged with {.finetune = true}

 protected:
  struct Start {
    double decay, eps;
    std::optional<Dtype> dtype;
    bool use_gamma, use_beta;
    Initializer initial_gamma, initial_beta;
    Dims axis;
    Initializer initial_avg_mean, initial_avg_var;
  };
  /// call: the link's name, "L::BatchNormalization".
  BatchStatistics(const char* call, const Shape& size, Start start);

  /// Makes what could not be made before the first x was seen.
  void prepare(const Variable& x) const;
  /// gamma and beta, or the constants in their place.
  Variable scale() const;
  Variable shift() const;
  Variable mean() const { return Variable(avg_mean, false); }
  Variable var() const { return Variable(avg_var, false); }
  /// Counts a training call, and gives the decay of the averages for it.
  double count(const BatchNormalizationCall& call) const;
  const Dims& axis() const noexcept { return axis_; }

 private:
  void make_averages(const Shape& size, const Device& device) const;
  Variable or_constant(const Variable& parameter, double constant) const;

  const char* call_;  // "L::BatchNormalization"
  Shape size_;
  Dims axis_;
  mutable Dtype dtype_;
  Initializer initial_avg_mean_, initial_avg_var_;
  mutable kusari::detail::MadeFlag has_averages_;
};

}  // namespace kusari::links
