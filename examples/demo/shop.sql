CREATE DATABASE shop;
USE shop;
CREATE TABLE customers (
  id INT PRIMARY KEY AUTO_INCREMENT,
  name VARCHAR(100) NOT NULL,
  email VARCHAR(100)
);
CREATE TABLE products (
  id INT PRIMARY KEY AUTO_INCREMENT,
  name VARCHAR(100) NOT NULL,
  price DECIMAL(10,2) NOT NULL
);
CREATE TABLE orders (
  id INT PRIMARY KEY AUTO_INCREMENT,
  customer_id INT NOT NULL,
  product_id INT NOT NULL,
  quantity INT NOT NULL DEFAULT 1,
  status ENUM('new','paid','shipped') NOT NULL DEFAULT 'new',
  ordered_at DATETIME(3) NOT NULL
);
INSERT INTO customers (name, email) VALUES ('Ada', 'ada@example.com'), ('Grace', 'grace@example.com'), ('Edsger', NULL);
INSERT INTO products (name, price) VALUES ('Kiwi', 0.50), ('Plum', 0.35), ('Melon', 2.95);
INSERT INTO orders (customer_id, product_id, quantity, ordered_at)
  SELECT 1 + seq % 3, 1 + seq % 3, 1 + seq % 5, '2026-11-29 12:00:00.000' + INTERVAL seq MINUTE FROM seq_1_to_1000;
CREATE USER 'penstock'@'%' IDENTIFIED BY 'penstock';
GRANT SELECT, RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT, BINLOG MONITOR ON *.* TO 'penstock'@'%';
