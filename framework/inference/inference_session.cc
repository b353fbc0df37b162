#include "kusari/framework/inference/inference_session.h"

#include "kusari/framework/inference/session.h"

namespace kusari {

InferenceSession::InferenceSession(inference::CallableModel model, InferenceSessionOptions options)
    : session_{std::make_unique<inference::Session>(std::move(model), std::move(options))} {}
InferenceSession::InferenceSession(InferenceSession&& other) noexcept = default;
InferenceSession& InferenceSession::operator=(InferenceSession&& other) noexcept = default;
InferenceSession::~InferenceSession() = default;

Arrays InferenceSession::run(const Arrays& inputs) const { return session_->run(inputs, nullptr); }
void InferenceSession::run(const Arrays& inputs, const Arrays& outputs) const { session_->run(inputs, &outputs); }
std::string InferenceSession::summary() const { return session_->summary(); }
int InferenceSession::plan_count() const { return session_->plan_count(); }
const std::string& InferenceSession::name() const noexcept { return session_->name(); }

}  // namespace kusari
