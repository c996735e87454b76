# Servers on Fargate behind a load balancer. The state of Terraform holds the secrets: keep it where it is encrypted.
locals {
  settings = {
    TAGGIE_ADDR            = "0.0.0.0:8080"
    TAGGIE_METRICS_ADDR    = "0.0.0.0:9464"
    TAGGIE_LOG_FORMAT      = "json"
    TAGGIE_DRAIN_DELAY     = "5s"
    TAGGIE_TRUSTED_PROXIES = data.aws_vpc.taggie.cidr_block
    OTEL_PROPAGATORS       = "none" # a load balancer passes on what clients say of traces
    TAGGIE_ALLOWED_ORIGINS = join(",", var.allowed_origins)
    TAGGIE_DYNAMODB        = "aws"
    TAGGIE_S3_BUCKET       = var.bucket
    TAGGIE_OIDC_ISSUER     = var.oidc_issuer
    TAGGIE_OIDC_AUDIENCE   = var.oidc_audience
    TAGGIE_OIDC_CLIENT_ID  = var.oidc_client_id
    AWS_REGION             = var.region
    GOMEMLIMIT             = "${floor(var.memory * 0.9)}MiB"
  }
}

data "aws_vpc" "taggie" {
  id = var.vpc_id
}

resource "random_password" "secret" {
  length  = 64
  special = false
}

resource "aws_secretsmanager_secret" "secret" {
  name_prefix = "${var.name}-secret-"
}

resource "aws_secretsmanager_secret_version" "secret" {
  secret_id     = aws_secretsmanager_secret.secret.id
  secret_string = random_password.secret.result
}

resource "aws_secretsmanager_secret" "redis" {
  name_prefix = "${var.name}-redis-"
}

resource "aws_secretsmanager_secret_version" "redis" {
  secret_id     = aws_secretsmanager_secret.redis.id
  secret_string = "rediss+cluster://default:${random_password.redis.result}@${aws_elasticache_replication_group.taggie.configuration_endpoint_address}:6379"
}

resource "aws_cloudwatch_log_group" "taggie" {
  name              = "/ecs/${var.name}"
  retention_in_days = 30
}

resource "aws_ecs_cluster" "taggie" {
  name = var.name
}

resource "aws_ecs_task_definition" "taggie" {
  family                   = var.name
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = var.cpu
  memory                   = var.memory
  task_role_arn            = aws_iam_role.server.arn
  execution_role_arn       = aws_iam_role.start.arn

  container_definitions = jsonencode([{
    name                   = "taggie"
    image                  = var.image
    command                = ["serve"]
    essential              = true
    readonlyRootFilesystem = true
    stopTimeout            = 60 # seconds; longer than TAGGIE_DRAIN_DELAY and what the end takes
    environment            = [for name, value in local.settings : { name = name, value = value } if value != ""]
    secrets = [
      { name = "TAGGIE_SECRET", valueFrom = aws_secretsmanager_secret.secret.arn },
      { name = "TAGGIE_REDIS_URL", valueFrom = aws_secretsmanager_secret.redis.arn },
    ]
    portMappings = [{ containerPort = 8080 }, { containerPort = 9464 }]
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.taggie.name
        awslogs-region        = var.region
        awslogs-stream-prefix = "taggie"
      }
    }
  }])
}

resource "aws_ecs_service" "taggie" {
  name                               = var.name
  cluster                            = aws_ecs_cluster.taggie.id
  task_definition                    = aws_ecs_task_definition.taggie.arn
  desired_count                      = var.servers
  launch_type                        = "FARGATE"
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  health_check_grace_period_seconds  = 60

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets         = var.private_subnet_ids
    security_groups = [aws_security_group.server.id]
  }

  load_balancer {
    target_group_arn = aws_lb_target_group.taggie.arn
    container_name   = "taggie"
    container_port   = 8080
  }

  depends_on = [
    aws_lb_listener.https,
    aws_iam_role_policy.server,
    aws_iam_role_policy.start,
    aws_secretsmanager_secret_version.secret,
    aws_secretsmanager_secret_version.redis,
  ]
}

resource "aws_lb" "taggie" {
  name                       = var.name
  load_balancer_type         = "application"
  subnets                    = var.public_subnet_ids
  security_groups            = [aws_security_group.balancer.id]
  idle_timeout               = 120 # seconds; sockets and event streams are silent for 20
  drop_invalid_header_fields = true
}

resource "aws_lb_listener" "https" {
  load_balancer_arn = aws_lb.taggie.arn
  port              = 443
  protocol          = "HTTPS"
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = var.certificate_arn

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.taggie.arn
  }
}

resource "aws_lb_target_group" "taggie" {
  name                 = var.name
  port                 = 8080
  protocol             = "HTTP"
  target_type          = "ip"
  vpc_id               = var.vpc_id
  deregistration_delay = 15 # seconds; then sockets and event streams begin anew at another server

  health_check {
    path                = "/readyz"
    interval            = 5
    timeout             = 4
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }
}

resource "aws_security_group" "balancer" {
  name_prefix = "${var.name}-balancer-"
  description = "Load balancer of Taggie"
  vpc_id      = var.vpc_id
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each = toset(var.client_cidrs)

  security_group_id = aws_security_group.balancer.id
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_egress_rule" "balancer" {
  security_group_id            = aws_security_group.balancer.id
  referenced_security_group_id = aws_security_group.server.id
  ip_protocol                  = "tcp"
  from_port                    = 8080
  to_port                      = 8080
}

resource "aws_security_group" "server" {
  name_prefix = "${var.name}-server-"
  description = "Servers of Taggie"
  vpc_id      = var.vpc_id
}

resource "aws_vpc_security_group_ingress_rule" "server" {
  security_group_id            = aws_security_group.server.id
  referenced_security_group_id = aws_security_group.balancer.id
  ip_protocol                  = "tcp"
  from_port                    = 8080
  to_port                      = 8080
}

resource "aws_vpc_security_group_ingress_rule" "metrics" {
  for_each = toset(var.metrics_cidrs)

  security_group_id = aws_security_group.server.id
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 9464
  to_port           = 9464
}

# To the stores, the issuer and the registry.
resource "aws_vpc_security_group_egress_rule" "server" {
  security_group_id = aws_security_group.server.id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}
