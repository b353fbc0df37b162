#pragma once

#include <string>
#include <vector>

namespace kusari::training::extensions {

/// Runs a program that $PATH finds, without input and with its output thrown away, and waits for it. Whether it is
/// there and was content.
bool run_program(std::vector<std::string> arguments);

}  // namespace kusari::training::extensions
