# ElastiCache has no append-only file, and without snapshots it starts empty: the servers make anew what they need.
resource "random_password" "redis" {
  length  = 64
  special = false
}

resource "aws_elasticache_subnet_group" "taggie" {
  name       = var.name
  subnet_ids = var.private_subnet_ids
}

resource "aws_elasticache_parameter_group" "taggie" {
  name   = var.name
  family = "redis7"

  parameter {
    name  = "cluster-enabled"
    value = "yes"
  }

  parameter {
    name  = "maxmemory-policy"
    value = "noeviction"
  }

  parameter {
    name  = "min-replicas-to-write"
    value = "1"
  }

  parameter {
    name  = "min-replicas-max-lag"
    value = "10"
  }
}

resource "aws_elasticache_replication_group" "taggie" {
  replication_group_id       = var.name
  description                = "Queues, events and presence of Taggie"
  engine                     = "redis"
  engine_version             = "7.1"
  parameter_group_name       = aws_elasticache_parameter_group.taggie.name
  node_type                  = var.redis_node_type
  num_node_groups            = var.redis_shards
  replicas_per_node_group    = 1
  automatic_failover_enabled = true
  multi_az_enabled           = true
  snapshot_retention_limit   = 0
  at_rest_encryption_enabled = true
  transit_encryption_enabled = true
  auth_token                 = random_password.redis.result
  subnet_group_name          = aws_elasticache_subnet_group.taggie.name
  security_group_ids         = [aws_security_group.redis.id]
}

resource "aws_security_group" "redis" {
  name_prefix = "${var.name}-redis-"
  description = "Redis of Taggie"
  vpc_id      = var.vpc_id
}

resource "aws_vpc_security_group_ingress_rule" "redis" {
  security_group_id            = aws_security_group.redis.id
  referenced_security_group_id = aws_security_group.server.id
  ip_protocol                  = "tcp"
  from_port                    = 6379
  to_port                      = 6379
}
