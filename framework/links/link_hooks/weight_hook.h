#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::link_hooks {

/// A hook that lets its link compute with a function of a parameter in the parameter's place. It belongs to one link,
/// which must not be called by two threads at once: the second call throws StateError where it is noticed.
class KUSARI_API WeightHook : public LinkHook {
 public:
  /// Throws ValueError when the link has no such parameter, StateError when the hook is installed for a thread.
  void added(Link* link) override;
  void forward_preprocess(Link& link) final;
  void forward_postprocess(Link& link) final;

 protected:
  explicit WeightHook(std::string weight_name) : weight_name_{std::move(weight_name)} {}
  const std::string& weight_name() const noexcept { return weight_name_; }
  /// Throws ValueError when the link has none of that name.
  Parameter& parameter(Link& link, const std::string& name) const;
  Parameter& weight(Link& link) const { return parameter(link, weight_name_); }
  /// What the link computes with. `weight` has its shape.
  virtual Variable transformed(Link& link, const Variable& weight) = 0;

 private:
  std::string weight_name_;
  Variable original_;  // during a call
  detail::InUse in_use_;
};

}  // namespace kusari::link_hooks
