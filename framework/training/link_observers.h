#pragma once

#include <string>
#include <utility>

#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/links/link.h"

namespace kusari::training {

/// A model and all links inside it, as observers "name", "name/predictor", "name/predictor/l1". Follows the model when
/// it is moved.
class LinkObservers final : public ObserverSource {
 public:
  LinkObservers(std::string name, Link& model) : name_{std::move(name)}, home_{model.home()} {}

  uint64_t version() const override { return detail::structure_version(); }
  void add_observers(Reporter& reporter) const override {
    Link* model = home_->find();
    if (model == nullptr) return;
    reporter.add_observer(name_, model->self());  // what an AnyLink holds reports
    for (const auto& [path, link] : model->namedlinks(true)) reporter.add_observer(name_ + path, *link);
  }

 private:
  std::string name_;
  IntrusivePtr<Home> home_;
};

}  // namespace kusari::training
