"""Function to function: tangent, adjoint, and the passes that tidy what they write."""
