#pragma once

#include <string>
#include <vector>

namespace kusari::training::extensions {

/// Runs a program that $PATH finds, without input and with its output thrown away, and waits for it. Whether it is
/// there and was content; true also where this program ignores SIGCHLD, so that the system does not tell: the output
/// says more.
bool run_program(std::vector<std::string> arguments);

}  // namespace kusari::training::extensions
