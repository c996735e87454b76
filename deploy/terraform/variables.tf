variable "region" {
  description = "Region of everything."
  type        = string
}

variable "name" {
  description = "What stands before the names of everything but the tables, whose names are in stores.json."
  type        = string
  default     = "taggie"
}

variable "bucket" {
  description = "Name of the bucket. No other bucket of AWS may have it."
  type        = string
}

variable "allowed_origins" {
  description = "Origins of web pages that may call the servers and upload files. The board needs its own, to upload to the bucket."
  type        = list(string)
  default     = []
}

variable "oidc_issuer" {
  description = "OpenID Connect issuer of the users, spelled as in their tokens."
  type        = string
}

variable "oidc_audience" {
  description = "Audience that tokens have to name."
  type        = string
}

variable "oidc_client_id" {
  description = "Client at the issuer by which people sign in to the pages; empty for none."
  type        = string
  default     = ""
}

variable "image" {
  description = "Image of Taggie in a registry that the servers reach; deploy/container makes it."
  type        = string
}

variable "certificate_arn" {
  description = "Certificate of the load balancer."
  type        = string
}

variable "vpc_id" {
  description = "Network of everything."
  type        = string
}

variable "public_subnet_ids" {
  description = "Subnets of the load balancer, in two zones at least."
  type        = list(string)
}

variable "private_subnet_ids" {
  description = "Subnets of the servers and of Redis, in two zones at least. From there DynamoDB, S3, the issuer and the registry must be reached."
  type        = list(string)
}

variable "client_cidrs" {
  description = "Networks that may reach the load balancer."
  type        = list(string)
  default     = ["0.0.0.0/0"]
}

variable "metrics_cidrs" {
  description = "Networks from which Prometheus reads metrics at port 9464. Profiles are there, too."
  type        = list(string)
  default     = []
}

variable "servers" {
  description = "How many servers run."
  type        = number
  default     = 2
}

variable "cpu" {
  description = "CPU of a server, in 1/1024 of a processor."
  type        = number
  default     = 1024
}

variable "memory" {
  description = "Memory of a server, in MiB."
  type        = number
  default     = 2048
}

variable "redis_node_type" {
  description = "Kind of the machines of Redis."
  type        = string
  default     = "cache.t4g.small"
}

variable "redis_shards" {
  description = "How many parts Redis has. Each has a replica."
  type        = number
  default     = 2
}
