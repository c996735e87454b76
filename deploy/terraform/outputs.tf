output "address" {
  description = "Where the load balancer is: let the name of your certificate lead there."
  value       = aws_lb.taggie.dns_name
}

output "server_role" {
  description = "The role that may use tables and bucket, for servers that run elsewhere."
  value       = aws_iam_role.server.arn
}
